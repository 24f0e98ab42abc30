/** Durations as people write them. */
import { EXIT, Problem } from './problem.ts';

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms`, `30s`, `5m`, `2h`, `1d` to ms. A bare number is seconds. At least 1 ms. Refuses anything else as `flag`. */
export function durationMs(text: string, flag: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/u.exec(text) ?? [];
  const ms = Math.round(Number(amount) * (UNIT_MS[unit] ?? Number.NaN));
  if (ms < 1) throw new Problem(`${flag} is "${text}": it should be above 0, such as 30s, 5m or 2h`, EXIT.usage);
  if (!Number.isSafeInteger(ms))
    throw new Problem(`${flag} is "${text}": it should be a duration like 30s, 5m or 2h`, EXIT.usage);
  return ms;
}
