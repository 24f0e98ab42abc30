/**
 * One running execution and everyone who reads its live output: one stream from the agent, at whatever place the
 * furthest behind needs.
 */
import type { Clock } from '../../actors/ports.ts';
import type { ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import {
  TAIL_GAPS_MAX,
  TAIL_PIECE_BYTES,
  TAIL_REST_MS_MAX,
  TAIL_RETRY_MS,
  TAIL_WAITING_BYTES_MAX,
  TAIL_WAITING_TOTAL_BYTES_MAX,
} from './limits.ts';
import type { LiveOutput, Tails } from './ports.ts';

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

/** What a hub is of, and whom it tells. */
export interface TailHubKit {
  readonly tails: Tails;
  readonly clock: Clock;
  readonly all: TailsWaiting;
  readonly node: NodeId;
  readonly execution: ExecutionId;
  /** Called when the last reader has gone. */
  readonly left: () => void;
}

/** A hub of an execution on a node. */
export class TailHub {
  readonly #kit: TailHubKit;
  readonly #readings = new Set<Reading>();
  #isRunning = false;
  #isFinished = false;
  #isGraceOver = false;
  #endsAt: number | null = null;
  /** Where the stream began that sends now, and where it is. */
  #beganAt = 0;
  #position: number | null = null;
  /** Gaps in a row: a piece began behind what a reader needs. */
  #gaps = 0;
  #stop: (() => void) | null = null;
  #cancelRetry: (() => void) | null = null;

  constructor(kit: TailHubKit) {
    this.#kit = kit;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  get readers(): number {
    return this.#readings.size;
  }

  join(offset: number, signal: AbortSignal): LiveOutput {
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
    this.#readings.add(reading);
    const aborted = (): void => reading.wake();
    signal.addEventListener('abort', aborted, { once: true });
    this.#open();
    return {
      get offset() {
        return reading.wanted - reading.waitingBytes;
      },
      take: () => this.#take(reading),
      news: () => (signal.aborted ? Promise.resolve() : pending.promise),
      isOver: () => this.isOver(),
      isComplete: () => this.#isSeenToEnd && reading.waitingBytes === 0 && reading.wanted === this.#endsAt,
      leave: () => {
        signal.removeEventListener('abort', aborted);
        this.#leave(reading);
      },
    };
  }

  /** The execution was delivered: its output can be asked of the agent. */
  started(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#open();
  }

  /** Its state is terminal. The rest of the live output may still come, for a short while. */
  finished(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    if (this.#stop !== null && this.#endsAt === null)
      this.#kit.clock.after(TAIL_REST_MS_MAX, () => {
        this.#isGraceOver = true;
        this.#wakeAll();
      });
    else this.#isGraceOver = true;
    this.#wakeAll();
  }

  /** The node may have come back. */
  nodeChanged(): void {
    if (this.#stop === null || this.#endsAt === null) this.#open();
  }

  /** No more live output is to be expected: it is over, or cannot be had. */
  isOver(): boolean {
    return this.#isFinished && (this.#isGraceOver || this.#endsAt !== null);
  }

  /** An agent that is older says `end` also where it has nothing from the place on that it was asked for. */
  get #isSeenToEnd(): boolean {
    return this.#endsAt !== null && (this.#beganAt === 0 || this.#endsAt > this.#beganAt);
  }

  #take(reading: Reading): { readonly offset: number; readonly text: string } | null {
    const offset = reading.wanted - reading.waitingBytes;
    const text = takeFrom(reading, this.#kit.all);
    if (reading.behind && reading.waiting.length === 0 && this.#stop !== null) this.#open();
    return text === null ? null : { offset, text };
  }

  #leave(reading: Reading): void {
    if (this.#readings.delete(reading)) this.#kit.all.bytes -= reading.waitingBytes;
    if (this.#readings.size > 0) return;
    this.#open();
    this.#kit.left();
  }

  /** Asks the agent anew, from the place of whoever is furthest behind; with nobody there it only stops. */
  #open(): void {
    const { tails, clock, node, execution } = this.#kit;
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    this.#stop?.();
    this.#stop = null;
    if (!this.#isRunning || this.#isFinished || this.#readings.size === 0) return;
    const from = Math.min(...[...this.#readings].map(({ wanted }) => wanted));
    for (const reading of this.#readings) reading.behind = false;
    this.#endsAt = null;
    this.#beganAt = from;
    let current = true;
    let late = this.#position === null || this.#position === from ? null : new LatePieces(this.#position);
    const close = tails.open(
      node,
      execution,
      from,
      (piece) => {
        if (!current || late?.has(piece) === true) return;
        late = null;
        this.#arrived(piece);
      },
      () => {
        if (current) this.#open();
      },
    );
    if (close === null) this.#cancelRetry = clock.after(TAIL_RETRY_MS, () => this.#open());
    else
      this.#stop = () => {
        current = false;
        close();
      };
  }

  #arrived(piece: { readonly offset: number; readonly text: string; readonly end: boolean }): void {
    const bytes = Buffer.from(piece.text);
    this.#position = piece.offset + bytes.length;
    if (piece.end) this.#endsAt = this.#position;
    const isGap = [...this.#readings].some(({ wanted, behind }) => !behind && wanted < piece.offset);
    this.#gaps = isGap ? this.#gaps + 1 : 0;
    for (const reading of this.#readings) {
      if (this.#gaps >= TAIL_GAPS_MAX) skipTo(piece.offset, reading);
      hand(reading, this.#kit.all, piece.offset, bytes);
      reading.wake();
    }
  }

  #wakeAll(): void {
    for (const reading of this.#readings) reading.wake();
  }
}

/**
 * Pieces that were on their way when another place was asked for: each begins where the one before ended. The agent
 * does not say to which request a piece belongs.
 */
class LatePieces {
  #next: number;
  #bytes = 0;

  constructor(next: number) {
    this.#next = next;
  }

  /** Whether it is one of them. So many are never on their way that it would have to be taken for one for ever. */
  has({ offset, text }: { readonly offset: number; readonly text: string }): boolean {
    if (offset !== this.#next || this.#bytes > TAIL_WAITING_BYTES_MAX) return false;
    const bytes = Buffer.byteLength(text);
    this.#next += bytes;
    this.#bytes += bytes;
    return true;
  }
}

/** What lies before is not kept by the machine any more: the reader goes on behind it once all is taken that waits. */
function skipTo(offset: number, reading: Reading): void {
  if (!reading.behind && reading.waitingBytes === 0) reading.wanted = Math.max(reading.wanted, offset);
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
