/** Colours, for terminals whose people want them. */
import type { Tone } from '../table/columns.ts';

/** Sequences that paint, by what is meant. Source: ECMA-48, SGR. */
export const PAINTS: Readonly<Record<Tone, string>> = {
  good: '\u001B[32m',
  warn: '\u001B[33m',
  bad: '\u001B[31m',
  faint: '\u001B[2m',
};

/** Ends any of them. */
export const PLAIN = '\u001B[0m';

/** A text in a colour. */
export function painted(text: string, tone: Tone): string {
  return `${PAINTS[tone]}${text}${PLAIN}`;
}

/** Whether a stream shows colours: a terminal, unless its user wants none. Source: no-color.org. */
export function showsColours(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
