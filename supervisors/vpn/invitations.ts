/**
 * Machines that are in no VPN yet are told how to enter one, by the admin to which they are connected. Only where
 * machines enter by a client of the manager's own.
 */
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Uninvited, VpnRows } from '../../actors/vpn/rows.ts';
import type { VpnManager } from '../../actors/vpn/vpn.ts';
import type { AdminFrameBody } from '../../transport/protocol/frames.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';

/**
 * How often is looked for such machines, in ms, and how long after being told that there may be some: its agent
 * connects meanwhile.
 */
const LOOK_MS = 15_000;
const GATHER_MS = 1_000;

/** A machine that did not enter is told again after this, in ms, or when its turn comes where many wait. */
export const INVITE_AGAIN_MS = 60_000;

/**
 * Whoever was invited is a host within this time, or something is wrong, in ms; meanwhile the reconciler is asked so
 * often to look for it.
 */
const ENTRY_MS = 45_000;
const ENTRY_LOOK_MS = 3_000;

/** Rows that are read at once, and machines that are told in one look. */
const ROWS_MAX = 1_000;
const INVITATIONS_MAX = 200;

/** What inviting needs. */
export interface InvitationPorts {
  readonly manager: Pick<VpnManager, 'networks' | 'joinToken'>;
  readonly rows: Pick<VpnRows, 'uninvited' | 'wake'>;
  readonly sessions: {
    has(node: NodeId): boolean;
    /** False: it is not connected here. */
    send(node: NodeId, frame: AdminFrameBody): boolean;
  };
  readonly clock: Clock;
  readonly log: Log;
}

/** Invitations that go by themselves once they are started. */
export class Invitations {
  readonly #ports: InvitationPorts;
  readonly #invitedAtMs = new Map<NodeId, number>();
  /** Of those, who were no hosts when it was looked. */
  readonly #absent = new Set<NodeId>();
  /** Who was told last where more wait than one look tells: the next begins behind, so that each has its turn. */
  #last: NodeId | null = null;
  #isStopped = false;
  #isWoken = false;
  #cancel = (): void => {};
  #looking: Promise<void> | null = null;
  /** When the reconciler was asked to look last. */
  #askedAtMs = -Infinity;
  #told = '';

  constructor(ports: InvitationPorts) {
    this.#ports = ports;
  }

  /** There may be somebody new. */
  wake(): void {
    if (this.#isWoken) return; // the first of many decides when
    this.#isWoken = true;
    if (this.#looking === null) this.#schedule(GATHER_MS);
  }

  start(): void {
    this.#schedule(GATHER_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#looking;
  }

  #schedule(ms: number): void {
    this.#cancel();
    if (this.#isStopped) return;
    this.#cancel = this.#ports.clock.after(ms, () => {
      this.#isWoken = false;
      this.#looking = this.#look().finally(() => {
        this.#looking = null;
        this.#schedule(this.#isWoken ? GATHER_MS : this.#isExpecting() ? ENTRY_LOOK_MS : LOOK_MS);
      });
    });
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { rows, clock, log } = this.#ports;
    try {
      await this.#invite(await this.#waiting());
      if (this.#isExpecting() && clock.nowMs() - this.#askedAtMs >= ENTRY_LOOK_MS) {
        this.#askedAtMs = clock.nowMs();
        await rows.wake();
      }
      this.#told = '';
    } catch (error) {
      const problem = (error as Error).message;
      if (!(error instanceof DatabaseUnavailable) && problem !== this.#told)
        log.warn({ error: problem }, 'machines cannot be told how to enter their VPN: trying again');
      this.#told = problem;
    }
  }

  /** Whether somebody was told lately and is not known as a host yet. */
  #isExpecting(): boolean {
    const nowMs = this.#ports.clock.nowMs();
    return [...this.#invitedAtMs].some(([node, atMs]) => this.#absent.has(node) && nowMs - atMs < ENTRY_MS);
  }

  /** Those that are connected here and were not told lately. */
  async #waiting(): Promise<readonly Uninvited[]> {
    const { rows, sessions, clock } = this.#ports;
    const nowMs = clock.nowMs();
    for (const [node, atMs] of this.#invitedAtMs)
      if (nowMs - atMs >= INVITE_AGAIN_MS || nowMs < atMs) this.#invitedAtMs.delete(node);
    const found = new Map<NodeId, Uninvited>();
    this.#absent.clear();
    let isWhole = this.#last === null;
    for (let after = this.#last; found.size < INVITATIONS_MAX;) {
      const page: readonly Uninvited[] = await rows.uninvited(ROWS_MAX, after);
      for (const one of page)
        if (this.#invitedAtMs.has(one.node)) this.#absent.add(one.node);
        else if (sessions.has(one.node)) found.set(one.node, one);
      const isEnd = page.length < ROWS_MAX;
      if (isEnd && isWhole) break;
      isWhole ||= isEnd;
      after = isEnd ? null : (page.at(-1)?.node ?? null);
    }
    const waiting = [...found.values()].slice(0, INVITATIONS_MAX);
    this.#last = waiting.length < INVITATIONS_MAX ? null : (waiting.at(-1)?.node ?? null);
    return waiting;
  }

  async #invite(nodes: readonly Uninvited[]): Promise<void> {
    if (nodes.length === 0) return;
    const { manager, sessions, clock } = this.#ports;
    const networks = new Set((await manager.networks()).map((network) => network.name));
    for (const [network, uninvited] of Map.groupBy(nodes, (one) => one.network)) {
      if (!networks.has(network)) continue; // it is about to be made
      const token = await manager.joinToken(network);
      if (token === null || this.#isStopped) continue;
      for (const { node } of uninvited) {
        if (!sessions.send(node, { type: 'netmaker-join', network, token })) continue;
        this.#invitedAtMs.set(node, clock.nowMs());
        this.#absent.add(node);
      }
    }
  }
}
