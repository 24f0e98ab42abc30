/** Times as people say them. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** How long ago in its largest unit: `12 s`, `3 min`, `5 h`, `40 d`. What lies ahead is `0 s`: clocks differ. */
export function agoOf(iso: string, nowMs: number): string {
  const ms = Math.max(0, nowMs - Date.parse(iso));
  const [unit, unitMs] = UNITS.find(([, one]) => ms >= one) ?? ['s', 1_000];
  return `${Math.floor(ms / unitMs)} ${unit}`;
}

/** How long until then in its largest unit; `0 s` once it is over. */
export function aheadOf(iso: string, nowMs: number): string {
  return agoOf(new Date(nowMs).toISOString(), Date.parse(iso));
}

/** Made once: to make one takes as long as to draw a row. */
const EXACTLY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

/** The exact instant in the time of this machine, with its zone. */
export function exactly(iso: string): string {
  return EXACTLY.format(new Date(iso));
}
