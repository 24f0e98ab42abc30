/** Durations as people write them. Pure. */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `30s`, `5m`, `2h`, `1d` in ms; a bare number is seconds, as for `edge run`. Null: it is none above 0. */
export function durationMsOf(text: string): number | null {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/u.exec(text.trim()) ?? [];
  const ms = Math.round(Number(amount) * (UNIT_MS[unit] ?? Number.NaN));
  return ms >= 1 && Number.isSafeInteger(ms) ? ms : null;
}

/** A duration in its largest whole unit, as it is written: `90 s` is `90s`, an hour `1h`. */
export function durationText(ms: number): string {
  const units = Object.entries(UNIT_MS).toReversed();
  const [unit, unitMs] = units.find(([, one]) => ms % one === 0) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}
