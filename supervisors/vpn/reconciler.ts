/**
 * Keeps the VPN manager as the rows say: one admin at a time, woken by changes and by itself, later each time
 * while the manager is away.
 */
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { VpnRows } from '../../actors/vpn/rows.ts';
import { VpnUnavailable, type VpnManager } from '../../actors/vpn/vpn.ts';
import { reconcile, type RoundOutcome } from './round.ts';

/**
 * How often everything is compared without being told, in ms: with Netmaker, where others may change things, and where
 * only our own rows count.
 */
export const COMPARE_MS = { netmaker: 60_000, embedded: 600_000 } as const;

/** How often moves are looked for without being told, in ms. */
const LOOK_MS = 60_000;

/** How often an admin that does not reconcile tries to, in ms. */
export const CLAIM_MS = 10_000;

/** Least pause between two rounds, in ms: changes meanwhile are found together. */
const GATHER_MS = 100;

/** So many times as long as a round took is waited before the next: Netmaker has other things to do. */
const REST_FACTOR = 4;

/** Waits after failures, in ms: the first, and the longest. */
export const BACK_OFF_MS = 1_000;
export const BACK_OFF_MS_MAX = 60_000;

/** What a reconciler needs. `leaseMs` is what the rows grant. */
export interface ReconcilerPorts {
  readonly manager: VpnManager;
  readonly rows: VpnRows;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** For how long something takes. */
  readonly monotonicMs: () => number;
  /** For how long the lease holds: runs on while this machine is suspended. */
  readonly leaseClockMs: () => number;
  /** Jitter of waits, from 0 to 1. */
  readonly random: () => number;
  readonly log: Log;
}

/** A reconciler that goes by itself. */
export interface Reconciler {
  /** Something changed, or may have. */
  wake(): void;
  start(): void;
  /** Gives the right to reconcile back. Resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** Another admin reconciles, or may: whatever was under way here ends. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** A reconciler, not started. */
export function createReconciler({
  manager,
  rows,
  leaseMs,
  clock,
  monotonicMs,
  leaseClockMs,
  random,
  log,
}: ReconcilerPorts): Reconciler {
  let epoch: number | null = null;
  let heldUntilMs = 0;
  let stopped = false;
  let isWoken = true;
  let comparedAtMs = -Infinity;
  let failures = 0;
  let lastPlan = '';
  let told = '';
  let endSleep = (): void => {};
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    for (;;) {
      if (stopped) return;
      const beganMs = monotonicMs();
      const { restMs, idleMs } = await turn();
      await sleep(Math.max(GATHER_MS, restMs, (monotonicMs() - beganMs) * REST_FACTOR), false);
      if (!isWoken) await sleep(idleMs, true);
    }
  }

  /** `restMs` is waited in any case, `idleMs` unless there is news. */
  async function turn(): Promise<{ readonly restMs: number; readonly idleMs: number }> {
    try {
      if (!(await isHeld())) return { restMs: CLAIM_MS, idleMs: 0 };
      isWoken = false;
      const beganMs = monotonicMs();
      const compares = beganMs - comparedAtMs >= COMPARE_MS[manager.kind] || manager.kind === 'netmaker';
      const outcome = await reconcile({ manager, rows, keep }, compares);
      if (compares) comparedAtMs = beganMs;
      return judged(outcome);
    } catch (error) {
      if (error instanceof LeaseLost) return { restMs: 0, idleMs: 0 };
      if (stopped) return { restMs: 0, idleMs: 0 };
      if (error instanceof DatabaseUnavailable) log.debug({}, 'the VPNs wait for the database');
      else if (error instanceof VpnUnavailable) tell(error.message);
      else log.error({ error }, 'the VPNs could not be reconciled: trying again');
      return { restMs: backOff(), idleMs: 0 };
    }
  }

  function judged({ moved, repaired, refused, misranged, plan }: RoundOutcome): {
    readonly restMs: number;
    readonly idleMs: number;
  } {
    if (moved > 0 || Object.keys(repaired).length > 0) log.info({ moved, ...repaired }, 'VPNs were reconciled');
    // what was done does not show: deletions may take their time
    const isStuck = refused.length > 0 || (plan !== '' && plan === lastPlan);
    lastPlan = plan;
    tell(
      [
        ...refused,
        ...(misranged.length > 0
          ? [
              `The ranges of ${misranged.join(', ')} are not those of their clusters: delete the network in Netmaker, and it is made again.`,
            ]
          : []),
      ].join(' '),
    );
    if (isStuck) return { restMs: backOff(), idleMs: 0 };
    failures = 0;
    return { restMs: 0, idleMs: plan === '' ? Math.min(LOOK_MS, COMPARE_MS[manager.kind]) : 0 };
  }

  /** Once when it begins, and once when it is over. */
  function tell(problem: string): void {
    if (problem !== '' && problem !== told)
      log.warn({ manager: manager.kind, problem }, 'VPNs are not as they should be');
    if (problem === '' && told !== '') log.info({ manager: manager.kind }, 'the VPN manager does what it should again');
    told = problem;
  }

  function backOff(): number {
    failures += 1;
    return Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** (failures - 1)) * (0.5 + random() / 2);
  }

  async function isHeld(): Promise<boolean> {
    if (epoch !== null && leaseClockMs() < heldUntilMs) return true;
    const claimedAtMs = leaseClockMs();
    epoch = await rows.lease.claim();
    heldUntilMs = claimedAtMs + leaseMs;
    return epoch !== null;
  }

  async function keep(): Promise<void> {
    const nowMs = leaseClockMs();
    if (stopped || epoch === null || nowMs >= heldUntilMs) throw new LeaseLost('the right to reconcile ran out');
    if (heldUntilMs - nowMs > (leaseMs * 2) / 3) return;
    if (!(await rows.lease.renew(epoch))) {
      epoch = null;
      throw new LeaseLost('another admin reconciles');
    }
    heldUntilMs = nowMs + leaseMs;
  }

  /** Ends early when it is stopped, and when there is news, if `isWakeable`. */
  function sleep(ms: number, isWakeable: boolean): Promise<void> {
    if (stopped || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        endSleep = () => {};
        resolve();
      };
      const cancel = clock.after(ms, done);
      endSleep = () => {
        if (isWakeable || stopped) done();
      };
    });
  }

  return {
    wake() {
      isWoken = true;
      endSleep();
    },
    start() {
      running = run();
    },
    async stop() {
      stopped = true;
      endSleep();
      await running;
      const held = epoch;
      epoch = null;
      if (held === null) return;
      await rows.lease
        .release(held)
        .catch((error: unknown) =>
          log.debug({ error: (error as Error).message }, 'the right to reconcile was not released: it runs out'),
        );
    },
  };
}
