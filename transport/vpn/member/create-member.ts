/** Makes a member: a device, the paths to its peers, and the relays between. */
import type { RelayReach } from '../derp/socket.ts';
import type { WireguardDevice } from '../wireguard/device.ts';
import { openDevice } from '../wireguard/open.ts';
import { REOPEN_MS_MAX, REOPEN_MS_MIN } from './limits.ts';
import { systemInterfaces, type Interfaces } from './local-endpoints.ts';
import type { Member, MemberPorts, WantedMember } from './member.ts';
import { Peers } from './peers.ts';

/** What a member is made of. */
export interface MemberOptions {
  /** Of its interface: at most 15 characters, and its own on the whole machine, over all network namespaces. */
  readonly interfaceName: string;
  /** UDP, on all addresses. Kept over restarts, so that an interface that was left is taken over. */
  readonly listenPort: number;
  /** What it is at first. */
  readonly wanted: WantedMember;
  /** How relays are reached, beyond what the map says. */
  readonly relayReach?: RelayReach;
  /** Addresses of this machine. */
  readonly interfaces?: () => Interfaces;
}

/**
 * A member, or why there can be none on this machine, in one sentence without addresses: no root, no TUN, no program.
 */
export type CreatedMember =
  | { readonly ok: true; readonly member: Member }
  | { readonly ok: false; readonly problem: string };

/** Opens the interface, or takes over the one that an earlier run left, with its direct paths. Rejects never. */
export async function createMember(options: MemberOptions, ports: MemberPorts): Promise<CreatedMember> {
  const { interfaceName: name, listenPort, relayReach, interfaces = systemInterfaces } = options;
  let wanted = options.wanted;
  let lost: string | null = null;
  let isClosed = false;
  let again: NodeJS.Timeout | null = null;
  let opening: Promise<void> = Promise.resolve();

  const opened = await openDevice({ name, listenPort, privateKey: wanted.privateKey, mtu: wanted.mtu });
  if (!opened.ok) return opened;
  const peers = new Peers(
    { listenPort, interfaceName: name, interfaces, wanted, ...(relayReach === undefined ? {} : { relayReach }) },
    ports,
  );
  use(opened.device);
  // Others that were told of it before it has a relay would look for it elsewhere first.
  await peers.placed();

  return {
    ok: true,
    member: {
      become(next) {
        wanted = next;
        peers.become(next);
      },
      tryDirect: (publicKey, inMs) => peers.tryDirect(publicKey, inMs),
      paths: () => peers.paths(),
      place: () => peers.place(),
      refused: () => peers.refused(),
      problem: () => lost ?? peers.problem(),
      async close(end) {
        isClosed = true;
        if (again !== null) clearTimeout(again);
        await opening;
        await peers.close(end);
      },
    },
  };

  function use(device: WireguardDevice): void {
    lost = null;
    peers.use(device);
    device.onLost((problem) => {
      lost = problem;
      peers.use(null);
      ports.changed();
      reopenIn(REOPEN_MS_MIN);
    });
  }

  function reopenIn(ms: number): void {
    if (isClosed) return;
    again = setTimeout(() => {
      opening = reopen(ms);
    }, ms);
    again.unref();
  }

  /** Never rejects. */
  async function reopen(afterMs: number): Promise<void> {
    const next = await openDevice({ name, listenPort, privateKey: wanted.privateKey, mtu: wanted.mtu });
    if (next.ok) {
      use(next.device);
      return ports.changed();
    }
    lost = next.problem;
    reopenIn(Math.min(afterMs * 2, REOPEN_MS_MAX));
  }
}
