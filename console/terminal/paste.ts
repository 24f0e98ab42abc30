/** What somebody is about to paste: a shell runs each line as it comes, so more than one is asked about. Pure. */

/** Lines that are shown before it is pasted. */
const SHOWN_LINES_MAX = 200;

/**
 * Characters that terminals act on; tabs and ends of lines are left. Among them is what would end a bracketed paste.
 */
// eslint-disable-next-line no-control-regex -- these are what is looked for
const CONTROLS = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/gu;

/** A paste. */
export interface Paste {
  /** Without control characters. */
  readonly text: string;
  readonly lines: readonly string[];
  /** Whether somebody should look first. */
  readonly isAsked: boolean;
}

/** It, as it is to be pasted. */
export function pasteOf(given: string): Paste {
  const text = given.replaceAll(/\r\n?/gu, '\n').replaceAll(CONTROLS, '');
  const lines = text.split('\n');
  return { text, lines, isAsked: lines.length > 1 || text.length !== given.replaceAll('\r\n', '\n').length };
}

/** Its lines, as they are shown. */
export function shownLines({ lines }: Paste): readonly string[] {
  return lines.slice(0, SHOWN_LINES_MAX).map((line, index) => `${index + 1}  ${line}`);
}
