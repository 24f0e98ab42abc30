/** How a type of event is written down once, and the fields that several types share. */
import { z } from 'zod';

/**
 * All that there is to know about one type. Everything that describes it is made from this: answers, documents, pages.
 */
export interface EventDefinition<S extends z.ZodObject = z.ZodObject> {
  /** When it fires, in one or two sentences. */
  readonly description: string;
  /**
   * The exact fields of its `data`: none more, none missing, null where there is nothing. Never checked on the way out,
   * only in tests.
   */
  readonly data: S;
  /** `data` of one, and when it happened. */
  readonly example: { readonly time: string; readonly data: z.output<S> };
}

/** A definition, its example held against its fields when it is compiled. */
export function eventType<S extends z.ZodObject>(definition: EventDefinition<S>): EventDefinition<S> {
  return definition;
}

/** A UUID of any version: agents choose the ids of nodes. */
export function id(meaning: string) {
  return z.guid().describe(meaning);
}

/** The same, null where there is none. */
export function idOrNull(meaning: string) {
  return z.guid().nullable().describe(meaning);
}

/** An instant as this service writes it: ISO 8601, UTC, milliseconds. */
export function instantText(meaning: string) {
  return z.iso.datetime({ precision: 3 }).describe(meaning);
}

/** An instant, null before it happened. */
export function instantOrNull(meaning: string) {
  return z.iso.datetime({ precision: 3 }).nullable().describe(meaning);
}
