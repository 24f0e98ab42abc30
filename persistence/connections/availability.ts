/**
 * Tells a database that is away from a statement that could not be run now, and both from a statement that is wrong
 * (L4).
 */
import { DatabaseUnavailable, NothingWritten, Unanswered } from '../../actors/ports.ts';

/**
 * SQLSTATE classes: connection exception, insufficient resources, operator intervention (also statement timeouts),
 * system error. Source: PostgreSQL, appendix A.
 */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58']);

/**
 * Single SQLSTATEs: read-only after a failover, timeouts of an idle and of a long transaction, serialization failure,
 * deadlock, lock timeout.
 */
const UNAVAILABLE_STATES = new Set(['25006', '25P03', '25P04', '40001', '40P01', '55P03']);

/**
 * SQLSTATEs of a transaction that another one stood in the way of, and that was rolled back whole: serialization
 * failure, deadlock.
 */
const CONFLICT_STATES = new Set(['40001', '40P01']);

/**
 * Of those, what says that the whole server is away, for everybody: connection exceptions, a shutdown, a crash, a
 * start, no room for a connection. A timeout, a lock or a deadlock says so of one statement only. Source: PostgreSQL,
 * appendix A.
 */
const LOST_CLASSES = new Set(['08']);
const LOST_STATES = new Set(['57P01', '57P02', '57P03', '53300']);

/**
 * SQLSTATEs that may say so of one statement or of all: a disk that is full, no memory, read-only. Only a write can
 * tell.
 */
const DOUBTFUL_STATES = new Set(['53100', '53200', '25006']);

/** Errors of the socket. ENOENT is a Unix socket of a server that is not running. */
const SOCKET_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EACCES',
]);

/**
 * A message that the server could not read, such as a statement with a NUL in it: of class 08, and yet the fault of the
 * statement.
 */
const PROTOCOL_VIOLATION = '08P01';

/** What `pg` 8 and `pg-pool` 3 say without giving a code. */
const DRIVER_MESSAGES =
  /^(?:Query read timeout|timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end|This socket has been ended|Received unexpected \w+ message from backend)/u;

/**
 * Whether the same statement may succeed later: the database was lost, too slow, locked or out of resources, rather
 * than the statement wrong. Looks through `cause`s, because MikroORM wraps.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseUnavailable) return true;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && (isUnavailableState(code) || SOCKET_ERRORS.has(code))) return true;
  if (DRIVER_MESSAGES.test(error.message)) return true;
  if (error instanceof AggregateError) return error.errors.some(isUnavailable); // every address of a host name refused
  return isUnavailable(error.cause);
}

/**
 * Whether the server itself is away: nobody's statement would be run now, and it is unknown what became of this one.
 */
export function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (
    typeof code === 'string' &&
    (LOST_CLASSES.has(code.slice(0, 2)) || LOST_STATES.has(code)) &&
    isSqlStateOfServer(code)
  )
    return true;
  if ((typeof code === 'string' && SOCKET_ERRORS.has(code)) || DRIVER_MESSAGES.test(error.message)) return true;
  if (error instanceof AggregateError) return error.errors.some(isLost);
  return isLost(error.cause);
}

/** Whether the client gave up waiting for an answer: its connection has no other until that one comes. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'; // `pg` 8 gives no code
}

/**
 * Whether the client gave up waiting for an answer, or for a connection while all of the pool wait for theirs. Source:
 * `pg` 8, `pg-pool` 3, which give no code.
 */
function isGivenUp(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return isUnanswered(error) || error.message === 'timeout exceeded when trying to connect' || isGivenUp(error.cause);
}

/** SQLSTATE of a statement that the server ended, as it took too long. */
const QUERY_CANCELED = '57014';

/** Whether the server ended the statement, as it took too long. */
export function isOvertime(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === QUERY_CANCELED || isOvertime(error.cause);
}

/** SQLSTATE of a statement that waited too long for a lock. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Whether somebody else held what the statement wanted for too long. */
export function isLockedOut(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === LOCK_NOT_AVAILABLE || isLockedOut(error.cause);
}

/** Whether only a write can tell if the database refuses this statement or all of them. */
export function isDoubtful(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === 'string' && DOUBTFUL_STATES.has(code)) || isDoubtful(error.cause);
}

/** Whether another transaction stood in the way: nothing was stored, and the same may succeed at once. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === 'string' && CONFLICT_STATES.has(code)) || isConflict(error.cause);
}

function isUnavailableState(code: string): boolean {
  return isSqlStateOfServer(code) && (UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE_STATES.has(code));
}

/**
 * Five characters: an error of a socket, such as EPIPE, is told apart by its name. Not one that is the fault of the
 * statement.
 */
function isSqlStateOfServer(code: string): boolean {
  return /^[0-9A-Z]{5}$/u.test(code) && !SOCKET_ERRORS.has(code) && code !== PROTOCOL_VIOLATION;
}

/**
 * The error to throw instead: a DatabaseUnavailable with the given one as its cause, or the given one when the
 * statement was wrong.
 */
export function asUnavailable(error: unknown, doing: string): unknown {
  if (error instanceof DatabaseUnavailable || !isUnavailable(error)) return error;
  // A statement that the server itself ended has its transaction taken back.
  const Lost = isGivenUp(error) ? Unanswered : DatabaseUnavailable;
  const Kind = isLost(error) ? Lost : NothingWritten;
  return new Kind(`The database is not available (${doing}).`, { cause: error });
}
