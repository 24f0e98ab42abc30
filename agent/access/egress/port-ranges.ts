/** Ports as an operator lists them: single ones and ranges. Pure. */

/** Ports from the first to the last, both included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The last port there is. Source: RFC 9293, 3.1: it has 16 bits. */
export const PORT_MAX = 65_535;

/** Reads `25` or `6000-6063`. Null when it is neither, or not from 1 to 65535. */
export function portRange(text: string): PortRange | null {
  const found = /^(?<first>\d{1,5})(?:-(?<last>\d{1,5}))?$/u.exec(text)?.groups;
  if (found === undefined) return null;
  const first = Number(found['first']);
  const last = Number(found['last'] ?? found['first']);
  return first >= 1 && first <= last && last <= PORT_MAX ? { first, last } : null;
}

/** Whether a port lies in one of the ranges. */
export function isInRanges(port: number, ranges: readonly PortRange[]): boolean {
  return ranges.some(({ first, last }) => port >= first && port <= last);
}
