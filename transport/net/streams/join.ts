/**
 * Streams joined in pairs into tunnels, which are counted, watched by one timer, and have one end with a cause each.
 */
import type { Duplex } from 'node:stream';
import { JoinedStreams } from './joined-streams.ts';
import { startTimer } from './timer.ts';

/**
 * A tunnel without a byte either way for this long is cut, in ms: longer than the two-minute keep-alives of SSH,
 * database clients and browsers.
 */
export const IDLE_MS_MAX = 600_000;

/** A tunnel is cut when it is this old, in ms: one day. */
export const LIFE_MS_MAX = 86_400_000;

/** How often open tunnels are looked over, in ms. All by one timer: 4,096 of them take about 2 ms. */
export const SWEEP_MS = 1_000;

/**
 * Why a tunnel ended. `normal`: both sides were done. `reset`: one side failed or was cut, so the other one was reset.
 * Cut by us, on both sides: `idle` (no byte either way for long), `deadline` (too old), `drain` (still open at the end
 * of a shutdown).
 */
export const JOIN_ENDS = ['normal', 'reset', 'idle', 'deadline', 'drain'] as const;
/** One of them. */
export type JoinEnd = (typeof JOIN_ENDS)[number];

/** A tunnel that is over. Up is from near to far. */
export interface Ended {
  readonly cause: JoinEnd;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly durationMs: number;
}

/** Time; tests give their own. Never jumps, never keeps the process alive. */
export interface JoinClock {
  nowMs(): number;
  /** The returned function cancels. */
  after(ms: number, run: () => void): () => void;
}

/** Limits of all tunnels of a set, in ms. */
export interface JoinsOptions {
  readonly idleMsMax?: number;
  readonly lifeMsMax?: number;
  readonly clock?: JoinClock;
}

/** The monotonic clock of this process. */
export const joinClock: JoinClock = {
  nowMs: () => performance.now(),
  after: (ms, run) => startTimer(ms, run),
};

/** A set of tunnels. Empty at first. */
export class Joins {
  readonly #idleMsMax: number;
  readonly #lifeMsMax: number;
  readonly #sweepMs: number;
  readonly #clock: JoinClock;
  /** Those that are open, each with who is told of its end. */
  readonly #open = new Map<JoinedStreams, ((ended: Ended) => void) | undefined>();
  readonly #ends: Record<JoinEnd, number> = { normal: 0, reset: 0, idle: 0, deadline: 0, drain: 0 };
  /** Bytes of those that are over. */
  readonly #past = { up: 0, down: 0 };
  #isSwept = false;
  #isDrained = false;
  #emptied: (() => void) | null = null;

  constructor({ idleMsMax = IDLE_MS_MAX, lifeMsMax = LIFE_MS_MAX, clock = joinClock }: JoinsOptions = {}) {
    this.#idleMsMax = idleMsMax;
    this.#lifeMsMax = lifeMsMax;
    this.#sweepMs = Math.min(SWEEP_MS, idleMsMax / 4, lifeMsMax / 4);
    this.#clock = clock;
  }

  /**
   * Joins two open streams, which are the set's from now on. `head` came from near already and goes first. Every chunk
   * goes its way without this looking at it. `ended` is called once, when both streams are done with or cut.
   */
  join(near: Duplex, far: Duplex, head: Buffer | null = null, ended?: (ended: Ended) => void): void {
    const tunnel = new JoinedStreams(near, far, head, this.#clock.nowMs(), (cause) => this.#end(tunnel, cause));
    this.#open.set(tunnel, ended);
    if (!this.#isSwept) {
      this.#isSwept = true;
      this.#clock.after(this.#sweepMs, () => this.#sweep());
    }
    if (this.#isDrained) this.#end(tunnel, 'drain');
    else tunnel.start();
  }

  /** How many are open. */
  get open(): number {
    return this.#open.size;
  }

  /** How many ended, by cause. */
  get ends(): Readonly<Record<JoinEnd, number>> {
    return this.#ends;
  }

  /** Bytes of all tunnels, those that are open included. */
  bytes(): { readonly up: number; readonly down: number } {
    const sum = { ...this.#past };
    for (const tunnel of this.#open.keys()) {
      sum.up += tunnel.up();
      sum.down += tunnel.down();
    }
    return sum;
  }

  /** Waits until none is open, at most so long, then cuts the rest, and those that come later at once. */
  async drain(msMax: number): Promise<void> {
    if (this.#open.size > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(msMax, resolve);
        this.#emptied = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#emptied = null;
    this.#isDrained = true;
    for (const tunnel of this.#open.keys()) this.#end(tunnel, 'drain');
  }

  #end(tunnel: JoinedStreams, cause: JoinEnd): void {
    const told = this.#open.get(tunnel);
    if (!this.#open.delete(tunnel)) return;
    const [bytesUp, bytesDown] = [tunnel.up(), tunnel.down()];
    this.#ends[cause] += 1;
    this.#past.up += bytesUp;
    this.#past.down += bytesDown;
    if (cause !== 'normal') tunnel.cut();
    told?.({ cause, bytesUp, bytesDown, durationMs: this.#clock.nowMs() - tunnel.beganMs });
    if (this.#open.size === 0) this.#emptied?.();
  }

  #sweep(): void {
    const nowMs = this.#clock.nowMs();
    for (const tunnel of this.#open.keys()) {
      const idleMs = tunnel.idleMs(nowMs);
      if (nowMs - tunnel.beganMs >= this.#lifeMsMax) this.#end(tunnel, 'deadline');
      else if (idleMs >= this.#idleMsMax) this.#end(tunnel, 'idle');
    }
    this.#isSwept = this.#open.size > 0;
    if (this.#isSwept) this.#clock.after(this.#sweepMs, () => this.#sweep());
  }
}
