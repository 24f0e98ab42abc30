/**
 * Units that could not be stored together, taken apart beside the way of all others: the one at fault fails alone, and
 * nobody else's write is refused for it (L4).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import { isUnavailable } from '../availability.ts';
import type { Unit } from './hot-batch.ts';
import { keyOf } from './hot-statements.ts';
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
 * What is taken apart is over by then, in ms: callers wait for 4.5 s, and with everything locked each piece would take
 * its time.
 */
const APART_MS_MAX = 2_500;

/** How long a piece may wait for locks and take, in ms. `null`: as long as any statement. */
export interface Patience {
  readonly lockMsMax: number;
  readonly statementMsMax: number | null;
}

/** Of a batch: nobody waits for one locked row longer than this. What locks rows in order is over in a tenth of it. */
export const BATCH_PATIENCE: Patience = { lockMsMax: 250, statementMsMax: null };

/** Of the pieces of a batch that failed. */
const PIECE_PATIENCE: Patience = { lockMsMax: 100, statementMsMax: 400 };

/**
 * Of one that failed alone in a hurry: it gets the time of a statement once more, and less for locks, since it has
 * waited for them before.
 */
const LAST_PATIENCE: Patience = { lockMsMax: 700, statementMsMax: null };

/** What taking apart needs of the committer. */
export interface IsolationPorts {
  /** Stores them in one transaction, tells of them and resolves them. Rejects when nothing of it was stored. */
  store(waiting: readonly Waiting[], patience: Patience): Promise<void>;
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

/** Stores what could not be stored with others. */
export interface Isolation {
  /** Stores as many of these together as will go. Each is resolved or rejected. Returns at once. */
  takeApart(waiting: readonly Waiting[], error: unknown): void;
  /** Stores one by itself. Returns at once. */
  alone(waiting: Waiting): void;
  /** Whether one of its changes failed alone lately. */
  isSuspect(unit: Unit): boolean;
  /** Resolves when everything that was begun before is stored or rejected. */
  settled(): Promise<void>;
}

interface Piece {
  readonly waiting: readonly Waiting[];
  readonly patience: Patience;
  /** By the monotonic clock. */
  readonly untilMs: number;
}

/** Nothing taken apart yet. */
export function createIsolation(ports: IsolationPorts): Isolation {
  const pieces: Piece[] = [];
  const suspects = new Map<string, number>();
  /** Of each unit that is here, until it is stored or rejected. */
  const underWay = new Set<Promise<void>>();
  let workers = 0;

  function add(more: readonly Piece[]): void {
    pieces.push(...more);
    while (workers < AT_ONCE_MAX && pieces.length > 0) {
      workers += 1;
      void work().finally(() => {
        workers -= 1;
      });
    }
  }

  /** The same, known as under way. */
  function tracked({ resolve, reject, ...waiting }: Waiting): Waiting {
    const { promise, resolve: over } = Promise.withResolvers<void>();
    underWay.add(promise);
    const end = (): void => {
      underWay.delete(promise);
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
  async function work(): Promise<void> {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) await store(piece);
  }

  async function store(piece: Piece): Promise<void> {
    const away =
      ports.awayError() ??
      (ports.monotonicMs() > piece.untilMs ? new DatabaseUnavailable('The database takes too long.') : null);
    if (away !== null) return piece.waiting.forEach((one) => one.reject(away));
    try {
      await ports.store(piece.waiting, piece.patience);
    } catch (error) {
      if (await ports.isAway(error)) return ports.wentAway(error, piece.waiting);
      const smaller = next(piece, error);
      if (smaller.length > 0) pieces.push(...smaller);
      else await failed(piece.waiting, error);
    }
  }

  /** Empty: it has failed alone, with all the time that a statement has. */
  function next({ waiting, patience, untilMs }: Piece, error: unknown): readonly Piece[] {
    if (waiting.length > 1) {
      const size = Math.ceil(waiting.length / PIECES);
      return Array.from({ length: Math.ceil(waiting.length / size) }, (_, index) => ({
        waiting: waiting.slice(index * size, (index + 1) * size),
        patience: PIECE_PATIENCE,
        untilMs,
      }));
    }
    return patience !== LAST_PATIENCE && isUnavailable(error) ? [{ waiting, patience: LAST_PATIENCE, untilMs }] : [];
  }

  async function failed(waiting: readonly Waiting[], error: unknown): Promise<void> {
    for (const { unit } of waiting) suspect(unit);
    if (isUnavailable(error)) await delay(FAILED_PAUSE_MS);
    else ports.unstorable(error);
    for (const one of waiting) one.reject(error);
  }

  function suspect(unit: Unit): void {
    for (const { write } of unit.changes) {
      suspects.delete(suspectKey(write));
      suspects.set(suspectKey(write), ports.monotonicMs() + SUSPECT_MS);
    }
    for (const key of suspects.keys()) {
      if (suspects.size <= SUSPECTS_MAX) return;
      suspects.delete(key);
    }
  }

  return {
    takeApart(together, error) {
      const waiting = together.map(tracked);
      const smaller = next({ waiting, patience: BATCH_PATIENCE, untilMs: ports.monotonicMs() + APART_MS_MAX }, error);
      if (smaller.length > 0) add(smaller);
      else void failed(waiting, error);
    },
    alone: (waiting) =>
      add([{ waiting: [tracked(waiting)], patience: PIECE_PATIENCE, untilMs: ports.monotonicMs() + APART_MS_MAX }]),
    isSuspect(unit) {
      if (suspects.size === 0) return false;
      return unit.changes.some(({ write }) => (suspects.get(suspectKey(write)) ?? 0) > ports.monotonicMs());
    },
    async settled() {
      await Promise.all(underWay); // not what comes meanwhile: something that is locked out comes again and again
    },
  };
}

function suspectKey(write: Unit['changes'][number]['write']): string {
  return `${write.kind} ${keyOf(write)}`;
}
