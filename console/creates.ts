/** Creates whose answer is lost: pressed again it is the same one, and nothing is made twice. */
import type { Keyed } from '../api/idempotency.ts';
import { isLeftOpen } from './failure.ts';

/**
 * One that was in doubt and is asked for again after this is another one, in ms: nobody still asks what became of it.
 */
export const IN_DOUBT_MS_MAX = 600_000;

/**
 * What makes it the same one: what is asked for, with what was `chosen` for it beside that. When it expires does not,
 * as that is another time a moment later; how long it lasts is chosen.
 */
export function whatOf(input: object, chosen: unknown): string {
  return JSON.stringify([{ ...input, expired_at: undefined }, chosen]);
}

/** A key of a create. `randomUUID` is not there over plain HTTP. */
export function newKey(): string {
  return `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`;
}

/** A create, and how it is forgotten. */
export interface Create<I, O> {
  /** `chosen`: what makes it another one although it is asked for with the same input. */
  (input: I, chosen?: unknown): Promise<O>;
  /** Nothing is in doubt any more: what was made may have been removed since, and asked for again it is another one. */
  readonly forget: () => void;
}

/**
 * The create with a key of its own: asked for again after an answer that left open whether it was done, it is sent as
 * it was sent then, and answers what was made.
 */
export function keyed<I extends Keyed, O>(
  create: (input: I) => Promise<O>,
  nowMs = (): number => performance.now(),
): Create<I, O> {
  let inDoubt: { readonly what: string; readonly input: I; readonly atMs: number } | null = null;
  const make = async (given: I, chosen?: unknown): Promise<O> => {
    const [what, atMs] = [whatOf(given, chosen), nowMs()];
    const before = inDoubt?.what === what && atMs - inDoubt.atMs <= IN_DOUBT_MS_MAX ? inDoubt : null;
    const input = before?.input ?? { ...given, idempotency_key: newKey() };
    try {
      const made = await create(input);
      if (inDoubt?.what === what) inDoubt = null;
      return made;
    } catch (error) {
      if (isLeftOpen(error)) inDoubt = { what, input, atMs };
      throw error;
    }
  };
  return Object.assign(make, { forget: () => void (inDoubt = null) });
}
