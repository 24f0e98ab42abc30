/** The pieces that inputs are made of. Each refuses what the database could not hold, so that nothing ends as a 500. */
import { z } from 'zod';
import { Uuid } from '../../transport/protocol/ids.ts';

/** Largest value of the integer columns: PostgreSQL's `int`. */
export const INTEGER_MAX = 2_147_483_647;

/**
 * Text without NUL, for its JSON Schema: a pattern of all other characters would say the same, and keep generators of
 * texts busy for minutes.
 */
const NO_NUL = { not: { pattern: String.raw`\u0000` } };

/** Text of at most `charactersMax` that PostgreSQL can store: no NUL, no lone surrogate. */
export function storableText(charactersMax: number) {
  return z.string().max(charactersMax).refine(isStorable, 'must be valid Unicode without NUL characters').meta(NO_NUL);
}

/** Whether PostgreSQL can hold it, also inside jsonb. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** Years that a timestamp column and an ISO 8601 year of four digits both hold, as they are written. */
export const KNOWN_YEAR = /^(?:19[7-9]\d|[2-9]\d{3})-/u;
export const NOT_KNOWN_YEAR = 'must lie in the years 1970 to 9999';

/** The same in Unix ms. */
const INSTANT_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * An instant as ISO 8601 with a time zone, to Unix ms. The zone may carry it out of the years in which it is written:
 * then it is their first or last ms.
 */
export const instantMs = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => KNOWN_YEAR.test(text), NOT_KNOWN_YEAR)
  .meta({ pattern: KNOWN_YEAR.source })
  .transform((text) => Math.min(Math.max(Date.parse(text), 0), INSTANT_MS_MAX));

/** A count of at least one that fits its column. */
export const positiveInteger = z.int().min(1).max(INTEGER_MAX);

/** No input at all. */
export const nothing = z.strictObject({});

/** Ids as clients may write them, in either case; what comes out is as this system writes them. */
export const NodeIdInput = Uuid.brand<'NodeId'>();
export const CommandIdInput = Uuid.brand<'CommandId'>();
export const ExecutionIdInput = Uuid.brand<'ExecutionId'>();
