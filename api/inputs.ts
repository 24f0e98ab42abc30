/** The pieces that inputs are made of. Each refuses what the database could not hold, so that nothing ends as a 500. */
import { z } from 'zod';
import { ClusterId, CommandId, ExecutionId, NodeId, Uuid } from '../transport/protocol/ids.ts';

/** Largest value of the integer columns: PostgreSQL's `int`. */
export const INTEGER_MAX = 2_147_483_647;

/** Ids as path parameters, lower-cased. */
export const id = Uuid;
export const nodeId = NodeId;
export const clusterId = ClusterId;
export const commandId = CommandId;
export const executionId = ExecutionId;

/** Text of at most `charactersMax` that PostgreSQL can store: no NUL, no lone surrogate. */
export function storableText(charactersMax: number) {
  return z.string().max(charactersMax).refine(isStorable, 'must be valid Unicode without NUL characters');
}

/** Whether PostgreSQL can hold it, also inside jsonb. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** An instant as ISO 8601 with a time zone, to Unix ms. Years 0000 to 9999. */
export const instantMs = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** A count of at least one that fits its column. */
export const positiveInteger = z.int().min(1).max(INTEGER_MAX);

/** No input at all. */
export const nothing = z.strictObject({});
