/**
 * Expected failures are values of a closed list. A throw is a bug. The sentence stands with who refuses; for
 * constraints of the database in persistence/committer/constraint-refusals.ts.
 */

/** Every reason to refuse. Each surface maps them in an exhaustive table. Source: docs/api.md, Errors. */
export type RefusalCode =
  | 'bad_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'idempotency_conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'rate_limited'
  | 'service_unavailable'
  | 'degraded_mode'
  | 'invalid_key'
  | 'key_expired'
  | 'key_spent'
  | 'node_limit_reached'
  | 'internal_error';

/** Why something was not done, in one sentence for the person who asked. `details` maps a field to its messages. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, readonly string[]>>;
  /** Seconds to wait before trying again, where that is known. */
  readonly retryAfterSeconds?: number;
  /** Nothing was done, because another admin owns what it is about. For this admin alone: nobody is shown it. */
  readonly notOwner?: true;
}

/** What an ask comes to: a value, or the reason why not. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

/** Success with its value. */
export function ok<T>(value: T): Result<T> {
  return { ok: true, value };
}

/** Failure with its reason. */
export function refuse(
  code: RefusalCode,
  message: string,
  details?: Refusal['details'],
): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: details === undefined ? { code, message } : { code, message, details } };
}

/** The database, an owner or a node can't be reached just now. */
export const UNAVAILABLE: Refusal = {
  code: 'service_unavailable',
  message: 'The service cannot do this right now. Try again shortly.',
  retryAfterSeconds: 1,
};

/** Begins each refusal that leaves open whether something was done; no other 503 does. Source: docs/api.md. */
export const NOT_KNOWN = 'It is not known whether this was done';

/** The database did not answer a commit, or whoever is to do it takes its time: it may be done, or be done later. */
export const IN_DOUBT: Refusal = {
  ...UNAVAILABLE,
  message: `${NOT_KNOWN}: there was no answer in time.`,
};

/** What passes by itself, and so carries a time after which to try again, always. Source: docs/api.md. */
const PASSING: ReadonlySet<RefusalCode> = new Set(['rate_limited', 'service_unavailable', 'degraded_mode']);

/**
 * That time, in seconds, where whoever refuses knows no better: a session, a lease and a database are back within so
 * long, or not soon.
 */
export const RETRY_AFTER_SECONDS = 5;

/** Seconds to wait before trying again; undefined for what stays refused however long one waits. */
export function retryAfterSecondsOf({ code, retryAfterSeconds }: Refusal): number | undefined {
  return retryAfterSeconds ?? (PASSING.has(code) ? RETRY_AFTER_SECONDS : undefined);
}

/** A write was refused because another admin owns the cluster now. */
export const STALE_EPOCH: Refusal = {
  code: 'service_unavailable',
  message: 'Another admin owns this cluster now. Try again shortly.',
  retryAfterSeconds: 1,
  notOwner: true,
};

/** A part of the program that is loaded with its first use cannot be: the package was replaced beneath it. */
export const NOT_LOADED: Refusal = {
  code: 'service_unavailable',
  message:
    'A part of this admin cannot be loaded, as its files were replaced or removed while it runs: it has to be restarted.',
};
