/**
 * Units that could not be stored together, taken apart beside the way of all others: the one at fault fails alone, and
 * nobody else's write is refused for it (L4). And those that are larger than a batch, which holds up nobody else (L1).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ASK_MS_MAX } from '../../actors/limits.ts';
import { NothingWritten } from '../../actors/ports.ts';
import { isUnavailable } from '../connections/availability.ts';
import type { Unit } from './hot-batch.ts';
import { keyOf } from './statement.ts';
import type { Waiting } from './units.ts';

/**
 * Into so many pieces a batch is taken apart at a time: the 2,000 units of a full one are single after four rounds, so
 * that the last healthy one is stored well within the 4.5 s that a caller waits.
 */
const PIECES = 8;

/** Pieces that are stored at once. Each takes a connection. */
const AT_ONCE_MAX = 2;

/**
 * A unit that failed alone goes alone for so long, in ms, so that it does not hold up a batch each time that its actor
 * tries again.
 */
export const SUSPECT_MS = 10_000;

/** Suspects that are remembered; the oldest is forgotten first. */
const SUSPECTS_MAX = 10_000;

/** Whoever failed alone for a passing reason is told so after this, in ms: it tries again at once. */
const FAILED_PAUSE_MS = 200;

/**
 * What is taken apart is begun by then, in ms: callers wait for 4.5 s, and with everything locked each piece would take
 * its time.
 */
const APART_MS_MAX = 2_500;

/** How long a piece may wait for locks and take, in ms. `null`: as long as any statement. */
export interface Timeouts {
  readonly lockMsMax: number;
  readonly statementMsMax: number | null;
}

/** Of a batch: nobody waits for one locked row longer than this. What locks rows in order is over in a tenth of it. */
export const BATCH_TIMEOUTS: Timeouts = { lockMsMax: 250, statementMsMax: null };

/** Of the pieces of a batch that failed. */
const PIECE_TIMEOUTS: Timeouts = { lockMsMax: 100, statementMsMax: 400 };

/**
 * Of one that failed alone in a hurry: it gets the time of a statement once more, and less for locks, since it has
 * waited for them before.
 */
const LAST_TIMEOUTS: Timeouts = { lockMsMax: 700, statementMsMax: null };

/** What taking apart needs of the committer. */
export interface IsolationPorts {
  /**
   * Stores them in one transaction, tells of them and resolves them. Rejects when nothing of it was stored: nobody
   * waits for it after `untilMs`, by the monotonic clock.
   */
  store(waiting: readonly Waiting[], timeouts: Timeouts, untilMs: number): Promise<void>;
  /** Whether this error says that the database is away for everybody. */
  isAway(error: unknown): Promise<boolean>;
  /** The database is away: what became of these is unknown. Rejects them. */
  wentAway(error: unknown, waiting: readonly Waiting[]): void;
  /** Null while the database is there. */
  awayError(): Error | null;
  /** One of them failed alone, and not for a passing reason. */
  unstorable(error: unknown): void;
  monotonicMs(): number;
}

interface Piece {
  readonly waiting: readonly Waiting[];
  readonly timeouts: Timeouts;
  /** By then it is begun, or not at all: by the monotonic clock. */
  readonly beginUntilMs: number;
  /** Nobody waits for it any longer. */
  readonly untilMs: number;
  /** One unit that is larger than a batch. */
  readonly isLarge: boolean;
}

/** Stores what could not be stored with others. Nothing is taken apart at first. */
export class Isolation {
  readonly #ports: IsolationPorts;
  readonly #pieces: Piece[] = [];
  /** Until when each counts as one, by the monotonic clock. */
  readonly #suspects = new Map<string, number>();
  /** Of each unit that is here, until it is stored or rejected. */
  readonly #underWay = new Set<Promise<void>>();
  #workers = 0;
  #storesLarge = false;

  constructor(ports: IsolationPorts) {
    this.#ports = ports;
  }

  /** Stores as many of these together as will go. Each is resolved or rejected. Returns at once. */
  takeApart(together: readonly Waiting[], error: unknown): void {
    const waiting = together.map((one) => this.#tracked(one));
    const smaller = smallerPieces(this.#piece(waiting, BATCH_TIMEOUTS), error);
    if (smaller.length > 0) this.#add(smaller);
    else void this.#failed(waiting, error);
  }

  /** Stores one by itself. Returns at once. */
  alone(waiting: Waiting): void {
    this.#add([this.#piece([this.#tracked(waiting)], PIECE_TIMEOUTS)]);
  }

  /** Stores one that is larger than a batch, in its turn while its caller waits. Returns at once. */
  beside(waiting: Waiting): void {
    const untilMs = waiting.arrivedMs + ASK_MS_MAX;
    const timeouts = BATCH_TIMEOUTS;
    this.#add([{ waiting: [this.#tracked(waiting)], timeouts, beginUntilMs: untilMs, untilMs, isLarge: true }]);
  }

  /** Whether one of its changes failed alone lately. */
  isSuspect(unit: Unit): boolean {
    if (this.#suspects.size === 0) return false;
    return unit.changes.some(({ write }) => (this.#suspects.get(suspectKey(write)) ?? 0) > this.#ports.monotonicMs());
  }

  /** Resolves when everything that was begun before is stored or rejected. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay); // not what comes meanwhile: something that is locked out comes again and again
  }

  #piece(waiting: readonly Waiting[], timeouts: Timeouts): Piece {
    const nowMs = this.#ports.monotonicMs();
    return { waiting, timeouts, beginUntilMs: nowMs + APART_MS_MAX, untilMs: nowMs + ASK_MS_MAX, isLarge: false };
  }

  #add(more: readonly Piece[]): void {
    this.#pieces.push(...more);
    while (this.#workers < AT_ONCE_MAX && this.#pieces.length > 0) {
      this.#workers += 1;
      void this.#work().finally(() => {
        this.#workers -= 1;
      });
    }
  }

  /** The same, known as under way. */
  #tracked({ resolve, reject, ...waiting }: Waiting): Waiting {
    const { promise, resolve: over } = Promise.withResolvers<void>();
    this.#underWay.add(promise);
    const end = (): void => {
      this.#underWay.delete(promise);
      over();
    };
    return {
      ...waiting,
      resolve(refused) {
        resolve(refused);
        end();
      },
      reject(error) {
        reject(error);
        end();
      },
    };
  }

  /**
   * The healthy pieces of one round come before the smaller pieces of those that failed: nobody waits for what is at
   * fault.
   */
  async #work(): Promise<void> {
    for (let piece = this.#next(); piece !== undefined; piece = this.#next()) {
      if (piece.isLarge) this.#storesLarge = true;
      await this.#store(piece);
      if (piece.isLarge) this.#storesLarge = false;
    }
  }

  /** Large ones go one after another, so that they never have both connections. */
  #next(): Piece | undefined {
    const index = this.#pieces.findIndex(({ isLarge }) => !isLarge || !this.#storesLarge);
    return index < 0 ? undefined : this.#pieces.splice(index, 1)[0];
  }

  async #store(piece: Piece): Promise<void> {
    const ports = this.#ports;
    const away =
      ports.awayError() ??
      (ports.monotonicMs() > piece.beginUntilMs ? new NothingWritten('The database takes too long.') : null);
    if (away !== null) return piece.waiting.forEach((one) => one.reject(away));
    try {
      await ports.store(piece.waiting, piece.timeouts, piece.untilMs);
    } catch (error) {
      if (await ports.isAway(error)) return ports.wentAway(error, piece.waiting);
      const smaller = smallerPieces(piece, error);
      if (smaller.length > 0) this.#pieces.push(...smaller);
      else await this.#failed(piece.waiting, error);
    }
  }

  async #failed(waiting: readonly Waiting[], error: unknown): Promise<void> {
    for (const { unit } of waiting) this.#suspect(unit);
    if (isUnavailable(error)) await delay(FAILED_PAUSE_MS);
    else this.#ports.unstorable(error);
    for (const one of waiting) one.reject(error);
  }

  #suspect(unit: Unit): void {
    for (const { write } of unit.changes) {
      this.#suspects.delete(suspectKey(write));
      this.#suspects.set(suspectKey(write), this.#ports.monotonicMs() + SUSPECT_MS);
    }
    for (const key of this.#suspects.keys()) {
      if (this.#suspects.size <= SUSPECTS_MAX) return;
      this.#suspects.delete(key);
    }
  }
}

/** Empty: it has failed alone, with all the time that a statement has. */
function smallerPieces(piece: Piece, error: unknown): readonly Piece[] {
  const { waiting, timeouts } = piece;
  if (waiting.length > 1) {
    const size = Math.ceil(waiting.length / PIECES);
    return Array.from({ length: Math.ceil(waiting.length / size) }, (_, index) => ({
      ...piece,
      waiting: waiting.slice(index * size, (index + 1) * size),
      timeouts: PIECE_TIMEOUTS,
    }));
  }
  return timeouts !== LAST_TIMEOUTS && isUnavailable(error) ? [{ ...piece, timeouts: LAST_TIMEOUTS }] : [];
}

function suspectKey(write: Unit['changes'][number]['write']): string {
  return `${write.kind} ${keyOf(write)}`;
}
