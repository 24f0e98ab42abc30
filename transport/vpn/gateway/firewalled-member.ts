/**
 * The interface of the gateway behind its firewall. Rules first, then the interface: members reach nothing in between.
 */
import type { Log } from '../../net/log.ts';
import type { CreatedMember } from '../member/create-member.ts';
import type { Member, MemberPorts, WantedMember } from '../member/member.ts';
import type { Firewall } from './firewall.ts';

/** A machine without rights for an interface may get them: tried again after this, in ms. */
const OPEN_AGAIN_MS = 300_000;

/** One whose firewall cannot be put up is tried again after this, in ms. */
const FIREWALL_AGAIN_MS = 30_000;

/** What it needs. */
export interface FirewalledMemberPorts {
  readonly log: Log;
  readonly monotonicMs: () => number;
  readonly firewall: Firewall;
  /** Opens the interface. Null: it is switched off. */
  readonly open: ((wanted: WantedMember, ports: MemberPorts) => Promise<CreatedMember>) | null;
}

/** None at first. */
export class FirewalledMember {
  readonly #ports: FirewalledMemberPorts;
  #member: Member | null = null;
  #openAtMs = -Infinity;
  #problem: string | null = null;

  constructor(ports: FirewalledMemberPorts) {
    this.#ports = ports;
  }

  /** Null: there is none. */
  get member(): Member | null {
    return this.#member;
  }

  /** Why there is none, in one sentence; null: nothing is known to be in the way. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Opens one, unless it was tried lately. True: it is there now, and was not before. */
  async open(wanted: () => WantedMember, memberPorts: MemberPorts): Promise<boolean> {
    const { open, firewall, monotonicMs } = this.#ports;
    if (open === null || this.#member !== null || monotonicMs() < this.#openAtMs) return false;
    this.#openAtMs = monotonicMs() + OPEN_AGAIN_MS;
    const problem = await firewall.raise([]);
    if (problem !== null) {
      this.#openAtMs = monotonicMs() + FIREWALL_AGAIN_MS;
      return this.#refused(problem);
    }
    const created = await open(wanted(), memberPorts);
    if (!created.ok) {
      await firewall.remove();
      return this.#refused(created.problem);
    }
    this.#member = created.member;
    this.#problem = null;
    return true;
  }

  /** Leaves all VPNs, and then takes the firewall away. */
  async close(): Promise<void> {
    if (this.#member === null) return;
    await this.#member.close({ isKept: false });
    await this.#ports.firewall.remove();
    this.#member = null;
  }

  /** Leaves all VPNs, as its firewall cannot be put up any more; it is opened again once that can be done. */
  async leave(problem: string): Promise<void> {
    await this.close();
    this.#openAtMs = this.#ports.monotonicMs() + FIREWALL_AGAIN_MS;
    this.#ports.log.error(
      { problem },
      'this admin leaves the VPNs of its clusters, as their members may reach other services of its machine: their nodes are reached by tunnels beside the VPN',
    );
    this.#problem = problem;
  }

  /** Said once, and again only when it is another reason. */
  #refused(problem: string): false {
    if (problem !== this.#problem)
      this.#ports.log.warn(
        { problem },
        'this admin cannot join the VPNs of its clusters: their nodes are reached by tunnels beside the VPN',
      );
    this.#problem = problem;
    return false;
  }
}
