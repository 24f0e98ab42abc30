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

/**
 * Where it has to be left again before it stood for as long as was waited, it is tried again after twice that, up to
 * this, in ms: its first rules can be set then, and those around its listeners cannot.
 */
export const FIREWALL_AGAIN_MS_MAX = 1_800_000;

/** An interface that could not be removed is removed after this, in ms: the rules around it may be gone. */
const REMOVE_AGAIN_MS = 5_000;

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
  /** Left, and its interface not removed. */
  #leaving: Member | null = null;
  #removeAtMs = -Infinity;
  /** It is told that it could not. */
  #isStuck = false;
  #openedAtMs = -Infinity;
  #openAtMs = -Infinity;
  /** After it was left last; 0: it never was. */
  #waitMs = 0;
  /** Why, as the log has it. */
  #left: string | null = null;
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
    if (open === null || this.#member !== null || this.#leaving !== null) return false;
    if (monotonicMs() < this.#openAtMs) return false;
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
    this.#openedAtMs = monotonicMs();
    this.#problem = null;
    return true;
  }

  /** Leaves all VPNs, and then takes the firewall away. Rejects where the interface cannot be removed. */
  async close(): Promise<void> {
    this.#leaving ??= this.#member;
    this.#member = null;
    if (this.#leaving === null) return;
    await this.#leaving.close({ isKept: false });
    await this.#ports.firewall.remove();
    this.#leaving = null;
  }

  /**
   * Leaves all VPNs, as its firewall cannot be put up any more; it is opened again once that can be done. There is no
   * member from now on, even where its interface cannot be removed: see `finish`. Never rejects.
   */
  async leave(problem: string): Promise<void> {
    const nowMs = this.#ports.monotonicMs();
    const hasStood = nowMs - this.#openedAtMs >= this.#waitMs;
    this.#waitMs = hasStood ? FIREWALL_AGAIN_MS : Math.min(this.#waitMs * 2, FIREWALL_AGAIN_MS_MAX);
    this.#openAtMs = nowMs + this.#waitMs;
    if (hasStood || problem !== this.#left)
      this.#ports.log.error(
        { problem },
        'this admin leaves the VPNs of its clusters, as their members may reach other services of its machine: their nodes are reached by tunnels beside the VPN',
      );
    this.#left = problem;
    this.#problem = problem;
    this.#leaving = this.#member;
    this.#member = null;
    this.#removeAtMs = nowMs;
    this.#isStuck = false;
    await this.finish();
  }

  /** Removes the interface of one that was left, where that could not be done yet. Never rejects. */
  async finish(): Promise<void> {
    const { monotonicMs, log } = this.#ports;
    if (this.#leaving === null || monotonicMs() < this.#removeAtMs) return;
    try {
      await this.close();
    } catch (error) {
      this.#removeAtMs = monotonicMs() + REMOVE_AGAIN_MS;
      if (!this.#isStuck) log.error({ error }, 'the interface of the gateway cannot be removed: trying again');
      this.#isStuck = true;
    }
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
