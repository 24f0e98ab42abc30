/**
 * Histories written by hand, for tests of the checker: each call takes a second, and begins when the one before has
 * ended.
 */
import type { Call, Fault, Named, Outcome, Place, Request, Shown, ShownNode } from './history.ts';
import { NO_ROWS, type Rows } from './rows.ts';
import { DATABASE_NAME, type Deadlines } from './rules.ts';

/** When a call was made, and by whom, where that matters. */
export interface When {
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly admin?: string;
  readonly place?: Call['place'];
  readonly owner?: string | null;
}

/** What is granted to all of them. */
export const DEADLINES: Deadlines = { answerMsMax: 6_000, revokedMsMax: 1_000, cancelledMsMax: 2_000, notedMsMax: 500 };

/** The database is away all the time: whatever is turned away is turned away for a reason. */
export const AWAY: readonly Fault[] = [
  { name: 'standstill', what: DATABASE_NAME, holdsFrames: false, holdsRows: false, fromMs: 0, toMs: Infinity },
];

/** The alias that most of these histories are about. */
export const WEB: Named = { resource: 'alias', scope: 'east', name: 'web' };

/** The node that has it, and another. */
export const [ONE, OTHER] = ['node-1', 'node-2'];

/** Calls that follow each other, unless they say when they were made. */
export function calls(...asked: readonly (readonly [Request, Outcome, When?])[]): Call[] {
  return asked.map(
    (
      [request, outcome, { fromMs, toMs, admin = 'admin-1', place = 'any' as Place, owner = null } = {}],
      index,
    ): Call => ({
      client: index,
      admin,
      place,
      owner,
      operation: request.verb,
      request,
      invokedMs: fromMs ?? index * 1_000,
      answeredMs: toMs ?? (fromMs ?? index * 1_000) + 900,
      outcome,
    }),
  );
}

/** A create of something, the alias unless given. */
export function create(key: string, more: Partial<Extract<Request, { verb: 'create' }>> = {}): Request {
  return { verb: 'create', ...WEB, key, value: null, node: ONE, ...more };
}

/** One that was done, with what it showed. */
export function done(...shown: readonly Shown[]): Outcome {
  return shown.length === 0 ? { type: 'ok', status: 204 } : { type: 'ok', status: 200, shown };
}

/** As it is shown. */
export function shown(id: string, more: Partial<Shown> = {}): Shown {
  return { id, value: null, node: ONE, ...more };
}

/** A read that found nothing. */
export const NONE: Outcome = { type: 'ok', status: 200, shown: [] };

/** An answer that never came. */
export const LOST: Outcome = { type: 'doubt', why: 'the connection was lost' };

/** A refusal for a reason that is stored. */
export function refused(code = 'conflict'): Outcome {
  return { type: 'refused', status: code === 'not_found' ? 404 : 409, code, why: code };
}

/** A node that was read; null: there is none. */
export function sawNode(node: ShownNode | null): Outcome {
  return { type: 'ok', status: 200, node };
}

/** Rows with the alias of this id; null: without. */
export function rowsWith(id: string | null, more: Partial<Rows> = {}): Rows {
  return { ...NO_ROWS, named: id === null ? [] : [{ ...WEB, ...shown(id) }], ...more };
}
