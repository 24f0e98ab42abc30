/**
 * One running execution and everyone who reads its live output: one stream from the agent, at whatever place the
 * furthest behind needs.
 */
import type { Clock } from '../../actors/ports.ts';
import type { ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import {
  TAIL_PIECE_BYTES,
  TAIL_REST_MS_MAX,
  TAIL_RETRY_MS,
  TAIL_WAITING_BYTES_MAX,
  TAIL_WAITING_TOTAL_BYTES_MAX,
} from './limits.ts';
import type { Tails } from './ports.ts';

/** One reader's place and what waits for it. */
export interface TailReader {
  /** Byte up to which the reader has been told. */
  readonly offset: number;
  /** Some more output, at most about TAIL_PIECE_BYTES; null when none waits. */
  take(): { readonly offset: number; readonly text: string } | null;
  /** Resolves at the next news of this execution or its output. */
  news(): Promise<void>;
  /** Everything that the agent streamed, to its end, has been taken. */
  isComplete(): boolean;
  leave(): void;
}

export interface TailHub {
  join(offset: number, signal: AbortSignal): TailReader;
  /** The execution was delivered: its output can be asked of the agent. */
  started(): void;
  /** Its state is terminal. The rest of the live output may still come, for a short while. */
  finished(): void;
  /** The node may have come back. */
  nodeChanged(): void;
  /** No more live output is to be expected: it is over, or cannot be had. */
  isOver(): boolean;
  readonly isFinished: boolean;
  readonly readers: number;
}

interface Reading {
  /** Next byte that this reader needs: behind all that waits. */
  wanted: number;
  waiting: Buffer[];
  waitingBytes: number;
  behind: boolean;
  wake: () => void;
}

/** What waits for the readers of all hubs, in bytes. One for a whole feed. */
export interface TailsWaiting {
  bytes: number;
}

/** A hub of an execution on a node. `left` is called when the last reader has gone. */
export function createTailHub(
  tails: Tails,
  clock: Clock,
  all: TailsWaiting,
  node: NodeId,
  execution: ExecutionId,
  left: () => void,
): TailHub {
  const readings = new Set<Reading>();
  let running = false;
  let finished = false;
  let graceOver = false;
  let endsAt: number | null = null;
  let stop: (() => void) | null = null;
  let cancelRetry: (() => void) | null = null;

  const wakeAll = (): void => {
    for (const reading of readings) reading.wake();
  };

  const open = (): void => {
    cancelRetry?.();
    cancelRetry = null;
    stop?.();
    stop = null;
    if (!running || finished || readings.size === 0) return;
    const from = Math.min(...[...readings].map(({ wanted }) => wanted));
    for (const reading of readings) reading.behind = false;
    endsAt = null;
    let current = true;
    const close = tails.open(
      node,
      execution,
      from,
      (piece) => {
        if (current) arrived(piece);
      },
      () => {
        if (current) open();
      },
    );
    if (close === null) cancelRetry = clock.after(TAIL_RETRY_MS, open);
    else
      stop = () => {
        current = false;
        close();
      };
  };

  const arrived = ({
    offset,
    text,
    end,
  }: {
    readonly offset: number;
    readonly text: string;
    readonly end: boolean;
  }): void => {
    const bytes = Buffer.from(text);
    if (end) endsAt = offset + bytes.length;
    for (const reading of readings) {
      hand(reading, all, offset, bytes);
      reading.wake();
    }
  };

  return {
    join(offset, signal) {
      let pending = Promise.withResolvers<void>();
      const reading: Reading = {
        wanted: offset,
        waiting: [],
        waitingBytes: 0,
        behind: true,
        wake: () => {
          pending.resolve();
          pending = Promise.withResolvers();
        },
      };
      readings.add(reading);
      const aborted = (): void => reading.wake();
      signal.addEventListener('abort', aborted, { once: true });
      open();
      return {
        get offset() {
          return reading.wanted - reading.waitingBytes;
        },
        take() {
          const at = reading.wanted - reading.waitingBytes;
          const taken = takeFrom(reading, all);
          if (reading.behind && reading.waiting.length === 0 && stop !== null) open();
          return taken === null ? null : { offset: at, text: taken };
        },
        news: () => (signal.aborted ? Promise.resolve() : pending.promise),
        isComplete: () => endsAt !== null && reading.waitingBytes === 0 && reading.wanted === endsAt,
        leave() {
          signal.removeEventListener('abort', aborted);
          if (readings.delete(reading)) all.bytes -= reading.waitingBytes;
          if (readings.size > 0) return;
          open();
          left();
        },
      };
    },
    started() {
      if (running) return;
      running = true;
      open();
    },
    finished() {
      if (finished) return;
      finished = true;
      if (stop !== null && endsAt === null)
        clock.after(TAIL_REST_MS_MAX, () => {
          graceOver = true;
          wakeAll();
        });
      else graceOver = true;
      wakeAll();
    },
    nodeChanged() {
      if (stop === null || endsAt === null) open();
    },
    isOver: () => finished && (graceOver || endsAt !== null),
    get isFinished() {
      return finished;
    },
    get readers() {
      return readings.size;
    },
  };
}

/**
 * Gives a reader what it has not had of these bytes, as far as there is room. One for whom nothing waits always gets
 * some, or he would ask for it again and again.
 */
function hand(reading: Reading, all: TailsWaiting, offset: number, bytes: Buffer): void {
  const skipped = reading.wanted - offset;
  if (reading.behind || skipped >= bytes.length) return;
  const isFull =
    reading.waitingBytes >= TAIL_WAITING_BYTES_MAX ||
    (reading.waitingBytes > 0 && all.bytes >= TAIL_WAITING_TOTAL_BYTES_MAX);
  if (skipped < 0 || isFull) {
    reading.behind = true;
    return;
  }
  const fresh = bytes.subarray(skipped);
  reading.waiting.push(fresh);
  reading.waitingBytes += fresh.length;
  all.bytes += fresh.length;
  reading.wanted += fresh.length;
}

function takeFrom(reading: Reading, all: TailsWaiting): string | null {
  if (reading.waiting.length === 0) return null;
  let count = 0;
  let bytes = 0;
  while (
    count < reading.waiting.length &&
    (count === 0 || bytes + (reading.waiting[count]?.length ?? 0) <= TAIL_PIECE_BYTES)
  ) {
    bytes += reading.waiting[count]?.length ?? 0;
    count += 1;
  }
  const taken = reading.waiting.splice(0, count);
  reading.waitingBytes -= bytes;
  all.bytes -= bytes;
  return Buffer.concat(taken).toString();
}
