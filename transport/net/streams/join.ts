/** Two streams joined into one tunnel: bytes both ways with back-pressure and half-close, and one end with a cause. */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { IDLE_MS_MAX, LIFE_MS_MAX, SWEEP_MS } from './limits.ts';
import { reset, wasCut } from './reset.ts';
import { startTimer } from './timer.ts';

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

/** A set of tunnels. */
export interface Joins {
  /**
   * Joins two open streams, which are the set's from now on. `head` came from near already and goes first. Every chunk
   * goes its way without this looking at it. `ended` is called once, when both streams are done with or cut.
   */
  join(near: Duplex, far: Duplex, head?: Buffer | null, ended?: (ended: Ended) => void): void;
  /** How many are open. */
  readonly open: number;
  /** How many ended, by cause. */
  readonly ends: Readonly<Record<JoinEnd, number>>;
  /** Bytes of all tunnels, those that are open included. */
  bytes(): { readonly up: number; readonly down: number };
  /** Waits until none is open, at most so long, then cuts the rest, and those that come later at once. */
  drain(msMax: number): Promise<void>;
}

/** The monotonic clock of this process. */
export const joinClock: JoinClock = {
  nowMs: () => performance.now(),
  after: (ms, run) => startTimer(ms, run),
};

/** What the sweep reads of an open tunnel. */
interface Open {
  readonly up: () => number;
  readonly down: () => number;
  readonly end: (cause: JoinEnd) => void;
  readonly beganMs: number;
  seenBytes: number;
  movedMs: number;
}

/** Makes an empty set. */
export function createJoins({
  idleMsMax = IDLE_MS_MAX,
  lifeMsMax = LIFE_MS_MAX,
  clock = joinClock,
}: JoinsOptions = {}): Joins {
  const sweepMs = Math.min(SWEEP_MS, idleMsMax / 4, lifeMsMax / 4);
  const open = new Set<Open>();
  const ends: Record<JoinEnd, number> = { normal: 0, reset: 0, idle: 0, deadline: 0, drain: 0 };
  const past = { up: 0, down: 0 };
  let isSwept = false;
  let isDrained = false;
  let emptied: (() => void) | null = null;

  function sweep(): void {
    const nowMs = clock.nowMs();
    for (const tunnel of open) {
      const bytes = tunnel.up() + tunnel.down();
      if (bytes !== tunnel.seenBytes) {
        tunnel.seenBytes = bytes;
        tunnel.movedMs = nowMs;
      }
      if (nowMs - tunnel.beganMs >= lifeMsMax) tunnel.end('deadline');
      else if (nowMs - tunnel.movedMs >= idleMsMax) tunnel.end('idle');
    }
    isSwept = open.size > 0;
    if (isSwept) clock.after(sweepMs, sweep);
  }

  function join(near: Duplex, far: Duplex, head: Buffer | null = null, ended?: (ended: Ended) => void): void {
    const beganMs = clock.nowMs();
    const headBytes = head?.length ?? 0;
    const moved = meter(near, far);
    const up = near instanceof Socket ? () => moved() + headBytes : moved;
    const down = meter(far, near);
    let closed = 0;
    let isOver = false;

    const tunnel: Open = { up, down, end, beganMs, movedMs: beganMs, seenBytes: 0 };
    open.add(tunnel);
    if (!isSwept) {
      isSwept = true;
      clock.after(sweepMs, sweep);
    }

    function end(cause: JoinEnd): void {
      if (isOver) return;
      isOver = true;
      const [bytesUp, bytesDown] = [up(), down()];
      open.delete(tunnel);
      ends[cause] += 1;
      past.up += bytesUp;
      past.down += bytesDown;
      if (cause !== 'normal') {
        reset(near);
        reset(far);
      }
      ended?.({ cause, bytesUp, bytesDown, durationMs: clock.nowMs() - beganMs });
      if (open.size === 0) emptied?.();
    }

    function one(stream: Duplex, other: Duplex): void {
      stream.on('error', ignore); // its close follows
      stream.once('close', () => {
        closed += 1;
        if (wasCut(stream) || !stream.readableEnded || !stream.writableFinished) end('reset');
        else if (closed === 2) end('normal');
      });
      if (stream.readableEnded) finish(stream, other);
      else stream.once('end', () => finish(stream, other));
      stream.pipe(other, { end: false });
    }

    function finish(stream: Duplex, other: Duplex): void {
      if (wasCut(stream)) end('reset');
      else other.end();
    }

    if (isDrained) return end('drain');
    if (near.destroyed || far.destroyed) return end('reset');
    if (head !== null && headBytes > 0) far.write(head);
    one(near, far);
    one(far, near);
  }

  return {
    join,
    ends,
    get open() {
      return open.size;
    },
    bytes() {
      const sum = { ...past };
      for (const { up, down } of open) {
        sum.up += up();
        sum.down += down();
      }
      return sum;
    },
    async drain(msMax) {
      if (open.size > 0) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(msMax, resolve);
          emptied = () => {
            cancel();
            resolve();
          };
        });
      }
      emptied = null;
      isDrained = true;
      for (const tunnel of open) tunnel.end('drain');
    },
  };
}

/**
 * Bytes from source to sink from now on. Sockets count for themselves; only between two streams of another kind each
 * chunk is counted here.
 */
function meter(source: Duplex, sink: Duplex): () => number {
  if (source instanceof Socket) {
    const before = source.bytesRead - source.readableLength;
    return () => source.bytesRead - before;
  }
  if (sink instanceof Socket) {
    const before = sink.bytesWritten;
    return () => sink.bytesWritten - before;
  }
  let bytes = 0;
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  return () => bytes;
}

function ignore(): void {}
