/**
 * Keeps the VPN manager as the rows say: one admin at a time, woken by changes and by itself, later each time
 * while the manager is away.
 */
import { DatabaseUnavailable, type Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { VpnRows } from '../../actors/vpn/rows.ts';
import { VpnUnavailable, type VpnManager } from '../../actors/vpn/vpn.ts';
import { HeldTask } from '../tasks/held-task.ts';
import { noRefusals } from './refusals.ts';
import { reconcile, type RoundOutcome } from './round.ts';

/**
 * How often everything is compared without being told, in ms: with Netmaker, where others may change things, and where
 * only our own rows count.
 */
export const COMPARE_MS = { netmaker: 60_000, embedded: 600_000 } as const;

/** How often moves are looked for without being told, in ms. */
const LOOK_MS = 60_000;

/** Least pause between two rounds, in ms: changes meanwhile are found together. */
const GATHER_MS = 100;

/**
 * So many times as long as a round took is waited before the next, but no longer than after failures: Netmaker has
 * other things to do, and a process may have stood still during the round.
 */
const REST_FACTOR = 4;

/** Waits after failures, in ms: the first, and the longest. */
export const BACK_OFF_MS = 1_000;
export const BACK_OFF_MS_MAX = 60_000;

/** What it is called where the lease is spoken of. */
const NAME = 'reconciler';

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
  /** As HeldTaskPorts'. */
  readonly takesTasks: () => boolean;
  /** Jitter of waits, from 0 to 1. */
  readonly random: () => number;
  readonly log: Log;
}

/** Another admin reconciles, or may: whatever was under way here ends. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** `restMs` is waited in any case, `idleMs` unless there is news. */
interface Pause {
  readonly restMs: number;
  readonly idleMs: number;
}

/** A reconciler that goes by itself once it is started. */
export class Reconciler {
  readonly #ports: ReconcilerPorts;
  /** The right to reconcile. It is renewed beside the rounds, as a question to Netmaker takes its time. */
  readonly #held: HeldTask;
  readonly #refused = noRefusals();
  #isStopped = false;
  #isWoken = true;
  #comparedAtMs = -Infinity;
  #failures = 0;
  #lastPlan = '';
  #told = '';
  #endSleep = (): void => {};
  #running: Promise<void> = Promise.resolve();
  #turning: Promise<unknown> = Promise.resolve();

  constructor(ports: ReconcilerPorts) {
    this.#ports = ports;
    this.#held = new HeldTask({
      ...ports,
      name: NAME,
      lease: ports.rows.lease,
      idle: () => this.#turning,
      gained: () => {
        this.#comparedAtMs = -Infinity; // whoever had it before may have left anything half done
        this.wake();
      },
      lost: () => {},
    });
  }

  /** Something changed, or may have. */
  wake(): void {
    this.#isWoken = true;
    this.#endSleep();
  }

  start(): void {
    this.#running = this.#held.start().then(() => this.#run());
  }

  /** Gives the right to reconcile back. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#endSleep();
    await this.#running;
    await this.#held.release();
  }

  async #run(): Promise<void> {
    const { monotonicMs } = this.#ports;
    while (!this.#isStopped) {
      const beganMs = monotonicMs();
      const turning = this.#turn();
      this.#turning = turning;
      const { restMs, idleMs } = await turning;
      const easyMs = Math.min(BACK_OFF_MS_MAX, (monotonicMs() - beganMs) * REST_FACTOR);
      await this.#sleep(Math.max(GATHER_MS, restMs, easyMs), false);
      if (!this.#isWoken) await this.#sleep(idleMs, true);
    }
  }

  async #turn(): Promise<Pause> {
    const { manager, rows, monotonicMs } = this.#ports;
    try {
      this.#isWoken = false;
      const epoch = this.#held.epoch();
      if (epoch === null) return { restMs: 0, idleMs: LOOK_MS }; // woken when it is gained
      const beganMs = monotonicMs();
      const compares = beganMs - this.#comparedAtMs >= COMPARE_MS[manager.kind] || manager.kind === 'netmaker';
      const outcome = await reconcile(
        { manager, rows, keep: () => this.#keep(epoch), refused: this.#refused },
        compares,
      );
      if (compares) this.#comparedAtMs = beganMs;
      return this.#judged(outcome);
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): Pause {
    const { log } = this.#ports;
    if (error instanceof LeaseLost || this.#isStopped) return { restMs: 0, idleMs: 0 };
    if (error instanceof DatabaseUnavailable) log.debug({}, 'the VPNs wait for the database');
    else if (error instanceof VpnUnavailable) this.#tell(error.message);
    else log.error({ error }, 'the VPNs could not be reconciled: trying again');
    return { restMs: this.#backOff(), idleMs: 0 };
  }

  #judged({ moved, repaired, refused, misranged, plan }: RoundOutcome): Pause {
    const { manager, log } = this.#ports;
    if (moved > 0 || Object.keys(repaired).length > 0) log.info({ moved, ...repaired }, 'VPNs were reconciled');
    // what was done does not show: deletions may take their time
    const isStuck = refused.length > 0 || (plan !== '' && plan === this.#lastPlan);
    this.#lastPlan = plan;
    const outOfRange =
      misranged.length === 0
        ? []
        : [
            `The ranges of ${misranged.join(', ')} are not those of their clusters: delete the network in Netmaker, and it is made again.`,
          ];
    this.#tell([...refused, ...outOfRange].join(' '));
    if (isStuck) return { restMs: this.#backOff(), idleMs: 0 };
    this.#failures = 0;
    return { restMs: 0, idleMs: plan === '' ? Math.min(LOOK_MS, COMPARE_MS[manager.kind]) : 0 };
  }

  /** Once when it begins, and once when it is over. */
  #tell(problem: string): void {
    const { manager, log } = this.#ports;
    if (problem !== '' && problem !== this.#told)
      log.warn({ manager: manager.kind, problem }, 'VPNs are not as they should be');
    if (problem === '' && this.#told !== '')
      log.info({ manager: manager.kind }, 'the VPN manager does what it should again');
    this.#told = problem;
  }

  #backOff(): number {
    this.#failures += 1;
    const ms = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** (this.#failures - 1));
    return ms * (0.5 + this.#ports.random() / 2);
  }

  /** Throws unless the right is still the one that this round began under. */
  #keep(epoch: number): void {
    if (this.#isStopped || this.#held.epoch() !== epoch) throw new LeaseLost('another admin reconciles, or may');
  }

  /** Ends early when it is stopped, and when there is news, if `isWakeable`. */
  #sleep(ms: number, isWakeable: boolean): Promise<void> {
    if (this.#isStopped || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#endSleep = () => {};
        resolve();
      };
      const cancel = this.#ports.clock.after(ms, done);
      this.#endSleep = () => {
        if (isWakeable || this.#isStopped) done();
      };
    });
  }
}
