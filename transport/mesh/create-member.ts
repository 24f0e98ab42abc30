/** Makes a member: a device, the paths to its peers, and the relays between. */
import type { Member, MemberPorts, WantedMember } from './member.ts';

/** What a member is made of. */
export interface MemberOptions {
  /** Of its interface: at most 15 characters, and its own on the whole machine, over all network namespaces. */
  readonly interfaceName: string;
  /** UDP, on all addresses. Kept over restarts, so that an interface that was left is taken over. */
  readonly listenPort: number;
  /** What it is at first. */
  readonly wanted: WantedMember;
}

/** A member, or why there can be none on this machine, in one sentence without addresses: no root, no TUN, no program. */
export type CreatedMember = { readonly ok: true; readonly member: Member } | { readonly ok: false; readonly problem: string };

/** Opens the interface, or takes over the one that an earlier run left, with its direct paths. Rejects never. */
export async function createMember(_options: MemberOptions, _ports: MemberPorts): Promise<CreatedMember> {
  return { ok: false, problem: 'not built yet' };
}
