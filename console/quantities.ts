/** Sizes, rates and durations as people say them. Pure. */

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** Bytes in the largest unit of which there is one: `7.8 GiB`. */
export function bytesOf(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1_024 && unit < BYTE_UNITS.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  const digits = value >= 100 || unit === 0 ? 0 : 1;
  return `${bytes < 0 ? '-' : ''}${value.toFixed(digits)} ${BYTE_UNITS[unit] ?? 'B'}`;
}

const DURATION_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A duration in its two largest units: `2 d 4 h`, `0 s`. */
export function durationOf(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, Math.floor(seconds));
  for (const [unit, unitSeconds] of DURATION_UNITS) {
    const count = Math.floor(rest / unitSeconds);
    if (count > 0 || parts.length > 0) parts.push(`${count} ${unit}`);
    rest -= count * unitSeconds;
    if (parts.length === 2) break;
  }
  return parts.filter((part) => !part.startsWith('0 ')).join(' ') || '0 s';
}
