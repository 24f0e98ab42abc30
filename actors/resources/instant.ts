/** Instants as clients see them. */

/** An instant as ISO 8601, UTC, milliseconds, `Z`. */
export type Instant = string;

/** Unix ms to an instant. */
export function instant(ms: number): Instant;
export function instant(ms: number | null): Instant | null;
export function instant(ms: number | null): Instant | null {
  if (ms === null) return null;
  const known = recent.get(ms);
  if (known !== undefined) return known;
  if (recent.size >= RECENT_INSTANTS_MAX) recent.clear();
  const text = new Date(ms).toISOString();
  recent.set(ms, text);
  return text;
}

/**
 * A fan-out words the same few instants ten thousand times. Pure all the same: the text of an instant never changes.
 */
const recent = new Map<number, Instant>();
const RECENT_INSTANTS_MAX = 64;
