/** How long ago something was, in one short word. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;

/** So many of a unit are said in it before the next larger one is taken. Source: kubectl, which says 119s and 119m. */
const UNITS: readonly (readonly [unit: string, unitMs: number, untilMs: number])[] = [
  ['s', SECOND_MS, 2 * MINUTE_MS],
  ['m', MINUTE_MS, 2 * HOUR_MS],
  ['h', HOUR_MS, 2 * DAY_MS],
  ['d', DAY_MS, 2 * YEAR_MS],
  ['y', YEAR_MS, Number.POSITIVE_INFINITY],
];

/**
 * `45s`, `5m`, `3h`, `12d`, `2y` since an instant (ISO 8601), `in 5m` until one that is to come; null and what is no
 * instant as they are.
 */
export function ageText(instant: unknown, nowMs: number): unknown {
  const atMs = typeof instant === 'string' ? Date.parse(instant) : Number.NaN;
  if (Number.isNaN(atMs)) return instant;
  const passedMs = nowMs - atMs;
  // the clock of the service may be a little ahead of this one
  return passedMs < -SECOND_MS ? `in ${durationText(-passedMs)}` : durationText(Math.max(0, passedMs));
}

/** What a sentence says `since` an instant, with what has passed: `Nothing heard for 5m`. */
export function withAges(sentence: string, nowMs: number): string {
  return sentence.replaceAll(
    /\bsince (?<instant>\d{4}-\d\d-\d\dT[\d:.]+Z)/gu,
    (_since, instant: string) => `for ${durationText(Math.max(0, nowMs - Date.parse(instant)))}`,
  );
}

/** A duration in ms in its largest unit of which there are two: `45s`, `5m`, `3h`, `12d`, `2y`. */
export function durationText(ms: number): string {
  const [unit = 's', unitMs = SECOND_MS] = UNITS.find(([, , untilMs]) => ms < untilMs) ?? [];
  return `${Math.floor(ms / unitMs)}${unit}`;
}
