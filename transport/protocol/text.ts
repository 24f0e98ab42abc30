/**
 * Text in frames and requests, of which every text field is made: what PostgreSQL cannot hold is refused here, where it
 * comes in, so that no field can forget it.
 */
import { z } from 'zod';

/**
 * Text of agents and admins: without NUL. Half a character, which a cut in the middle of one leaves, becomes U+FFFD.
 */
export function wireText() {
  return z
    .string()
    .refine((value) => !value.includes('\0'), 'must have no NUL character')
    .overwrite((value) => value.toWellFormed());
}

/** A URL, likewise. */
export function wireUrl() {
  return z.url().refine((value) => !value.includes('\0'), 'must have no NUL character');
}

/**
 * Text that neither side chose: what a process printed, what a stranger typed at a login. It may be anything, and must
 * not cost the agent its session; whoever stores it makes it storable.
 */
export function foreignText() {
  return z.string();
}
