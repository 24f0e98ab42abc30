/** The pieces that inputs are made of. Each refuses what the database could not hold, so that nothing ends as a 500. */
import { z } from 'zod';
import { Uuid } from '../transport/protocol/ids.ts';

/** Largest value of the integer columns: PostgreSQL's `int`. */
export const INTEGER_MAX = 2_147_483_647;

/** Text of at most `charactersMax` that PostgreSQL can store: no NUL, no lone surrogate. */
export function storableText(charactersMax: number) {
  return z.string().max(charactersMax).refine(isStorable, 'must be valid Unicode without NUL characters');
}

/** Whether PostgreSQL can hold it, also inside jsonb. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** What a timestamp column and an ISO 8601 year of four digits both hold: 1970 to 9999, in Unix ms. */
const INSTANT_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Whether a time is one that this service can hold. */
export function isInstant(ms: number): boolean {
  return ms >= 0 && ms <= INSTANT_MS_MAX;
}

/** An instant as ISO 8601 with a time zone, to Unix ms. */
export const instantMs = z.iso.datetime({ offset: true }).refine((text) => isInstant(Date.parse(text)), 'must lie in the years 1970 to 9999')
  .transform((text) => Date.parse(text));

/** A count of at least one that fits its column. */
export const positiveInteger = z.int().min(1).max(INTEGER_MAX);

/** No input at all. */
export const nothing = z.strictObject({});

/** Ids as clients may write them, in either case; what comes out is as this system writes them. */
export const NodeIdInput = Uuid.brand<'NodeId'>();
export const CommandIdInput = Uuid.brand<'CommandId'>();
export const ExecutionIdInput = Uuid.brand<'ExecutionId'>();
