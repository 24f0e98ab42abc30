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

/** A machine that did not enter is told again after this, in ms. */
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

/** Invitations that go by themselves. */
export interface Invitations {
  /** There may be somebody new. */
  wake(): void;
  start(): void;
  stop(): Promise<void>;
}

/** Invitations, not started. */
export function createInvitations({ manager, rows, sessions, clock, log }: InvitationPorts): Invitations {
  const invitedAtMs = new Map<NodeId, number>();
  /** Of those, who were no hosts when it was looked. */
  const absent = new Set<NodeId>();
  let stopped = false;
  let cancel = (): void => {};
  let looking: Promise<void> | null = null;
  let isWoken = false;
  let wokeAtMs = -Infinity;
  let told = '';

  async function look(): Promise<void> {
    try {
      await invite(await waiting());
      if (isExpecting() && clock.nowMs() - wokeAtMs >= ENTRY_LOOK_MS) {
        wokeAtMs = clock.nowMs();
        await rows.wake();
      }
      told = '';
    } catch (error) {
      const problem = (error as Error).message;
      if (!(error instanceof DatabaseUnavailable) && problem !== told)
        log.warn({ error: problem }, 'machines cannot be told how to enter their VPN: trying again');
      told = problem;
    }
  }

  /** Whether somebody was told lately and is not known as a host yet. */
  function isExpecting(): boolean {
    return [...invitedAtMs].some(([node, atMs]) => absent.has(node) && clock.nowMs() - atMs < ENTRY_MS);
  }

  /** Those that are connected here and were not told lately. */
  async function waiting(): Promise<readonly Uninvited[]> {
    const nowMs = clock.nowMs();
    for (const [node, atMs] of invitedAtMs)
      if (nowMs - atMs >= INVITE_AGAIN_MS || nowMs < atMs) invitedAtMs.delete(node);
    const found: Uninvited[] = [];
    absent.clear();
    for (let after: NodeId | null = null; found.length < INVITATIONS_MAX;) {
      const page: readonly Uninvited[] = await rows.uninvited(ROWS_MAX, after);
      for (const { node } of page) if (invitedAtMs.has(node)) absent.add(node);
      found.push(...page.filter(({ node }) => sessions.has(node) && !invitedAtMs.has(node)));
      const last = page.at(-1);
      if (last === undefined || page.length < ROWS_MAX) break;
      after = last.node;
    }
    return found.slice(0, INVITATIONS_MAX);
  }

  async function invite(nodes: readonly Uninvited[]): Promise<void> {
    if (nodes.length === 0) return;
    const networks = new Set((await manager.networks()).map((network) => network.name));
    for (const [network, uninvited] of Map.groupBy(nodes, (one) => one.network)) {
      if (!networks.has(network)) continue; // it is about to be made
      const token = await manager.joinToken(network);
      if (token === null || stopped) continue;
      for (const { node } of uninvited)
        if (sessions.send(node, { type: 'netmaker-join', network, token })) {
          invitedAtMs.set(node, clock.nowMs());
          absent.add(node);
        }
    }
  }

  function schedule(ms: number): void {
    cancel();
    if (stopped) return;
    cancel = clock.after(ms, () => {
      isWoken = false;
      looking = look().finally(() => {
        looking = null;
        schedule(isWoken ? GATHER_MS : isExpecting() ? ENTRY_LOOK_MS : LOOK_MS);
      });
    });
  }

  return {
    wake() {
      if (isWoken) return; // the first of many decides when
      isWoken = true;
      if (looking === null) schedule(GATHER_MS);
    },
    start() {
      schedule(GATHER_MS);
    },
    async stop() {
      stopped = true;
      cancel();
      await looking;
    },
  };
}
