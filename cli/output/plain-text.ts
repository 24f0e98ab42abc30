/**
 * What others wrote, as it may go to a terminal: a terminal obeys control characters, and some turn a line round or
 * hide a part of it.
 */

import { PLAIN } from './colours.ts';

/**
 * Control characters of C0 and C1, separators of lines, the marks and overrides of bidirectional text (U+202E and its
 * kind), what has no width, and tags. Source: UAX 9, UTR 36; Trojan Source (CVE-2021-42574).
 */
const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u{200b}\u{2060}-\u{2064}\u{feff}\u{e0000}-\u{e007f}]/gu;

/** Select Graphic Rendition: colours and such, which a script may mean. Source: ECMA-48, 8.3.117. */
// eslint-disable-next-line no-control-regex -- these are what is looked for
const COLOUR = /(\u001b\[[\d;:]{0,32}m)/u;

/** One line without any of these: a run of them is one space. */
export function plainText(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u{200b}\u{2060}-\u{2064}\u{feff}\u{e0000}-\u{e007f}]+/gu,
    ' ',
  );
}

/** JSON that says the same, with these as escapes: programs read what they always did. */
export function plainJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(OBEYED, (character) =>
    character === '\n' ? character : [...unitsOf(character)].join(''),
  );
}

/** Ends what the last colour began, and the other ways in which that is written. */
const ENDS_OF_COLOURS: readonly string[] = [PLAIN, '\u001b[m', '\u001b[00m'];

/**
 * What a script said, for a person: its lines, tabs and colours stay, everything else of these is shown as a
 * replacement character. A colour ends with its line: what follows is of another machine. Without `colours` they go.
 */
export function plainOutput(text: string, { colours = true }: { readonly colours?: boolean } = {}): string {
  let isPainted = false;
  let shown = '';
  for (const [index, piece] of text.split(COLOUR).entries()) {
    if (index % 2 === 1) {
      if (!colours) continue;
      isPainted = !ENDS_OF_COLOURS.includes(piece);
      shown += piece;
      continue;
    }
    const plain = piece
      .replaceAll('\r\n', '\n')
      .replaceAll(OBEYED, (character) => (character === '\n' || character === '\t' ? character : '\ufffd'));
    if (isPainted && plain.includes('\n')) {
      shown += plain.replace('\n', `${PLAIN}\n`);
      isPainted = false;
    } else shown += plain;
  }
  return isPainted ? `${shown}${PLAIN}` : shown;
}

function* unitsOf(character: string): Generator<string> {
  for (let at = 0; at < character.length; at += 1) yield `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
}
