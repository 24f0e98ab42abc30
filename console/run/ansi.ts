/**
 * What a script wrote, as text with a look: of all that a terminal would obey only colours and the like are taken
 * (SGR). Pure.
 */

/** Text that looks one way. `look`: names of classes, empty where it looks like any text. */
export interface Span {
  readonly text: string;
  readonly look: string;
}

/**
 * Sequences that a terminal obeys: CSI, then OSC and the other strings up to their end, then two characters. Source:
 * ECMA-48. One that has no end is taken up to the end of its line, so that it hides no more than that.
 */
const SEQUENCE =
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  /(?:\u001b\[|\u009b)([0-?]{0,64})[ -/]{0,8}([@-~])|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\n]{0,4096}(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]{0,8}[0-~]?/gu;

/**
 * What would turn a line round, hide a part of it, or be seen by nobody. Source: UAX 9, UTR 36; Trojan Source
 * (CVE-2021-42574). Lines and tabs stay.
 */
const OBEYED =
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Zl}\p{Zp}\p{Bidi_Control}\u{200b}\u{2060}-\u{2064}\u{feff}\u{e0000}-\u{e007f}]/gu;

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

/** How text looks that follows. Grounds are not taken: no ground of ours would leave every colour readable. */
interface Look {
  readonly colour: string | null;
  readonly flags: readonly string[];
}

const PLAIN: Look = { colour: null, flags: [] };

/** Parameter → what it turns on, and what turns it off again. Source: ECMA-48, 8.3.117. */
const FLAGS: Readonly<Record<number, string>> = { 1: 'bold', 2: 'faint', 3: 'italic', 4: 'underlined', 9: 'crossed' };
const ENDS: Readonly<Record<number, readonly string[]>> = {
  22: ['bold', 'faint'],
  23: ['italic'],
  24: ['underlined'],
  29: ['crossed'],
};

/** The text in pieces that look alike. What is obeyed but is no colour is left out, or is a replacement character. */
export function spansOf(text: string): readonly Span[] {
  const spans: Span[] = [];
  let look = PLAIN;
  let end = 0;
  const push = (piece: string): void => {
    const shown = plain(piece);
    if (shown === '') return;
    const name = nameOf(look);
    const last = spans.at(-1);
    if (last?.look === name) spans[spans.length - 1] = { text: last.text + shown, look: name };
    else spans.push({ text: shown, look: name });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[2] === 'm') look = lookAfter(look, match[1] ?? '');
  }
  push(text.slice(end));
  return spans;
}

/** The same without any look. */
export function plainTextOf(text: string): string {
  return plain(text.replaceAll(SEQUENCE, ''));
}

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(OBEYED, '\ufffd');
}

function lookAfter(look: Look, parameters: string): Look {
  if (!/^[\d;:]*$/u.test(parameters)) return look; // a private one is no SGR
  const numbers = parameters.split(/[;:]/u).map(Number);
  let next = look;
  for (let at = 0; at < numbers.length; at += 1) {
    const number = numbers[at] ?? 0;
    if (number === 38 || number === 48) {
      const isIndexed = numbers[at + 1] === 5;
      const indexed = numbers[at + 2];
      if (number === 38) next = { ...next, colour: isIndexed && indexed !== undefined ? indexedColour(indexed) : null };
      at += isIndexed ? 2 : 4;
    } else next = lookWith(next, number);
  }
  return next;
}

function lookWith(look: Look, number: number): Look {
  if (number === 0) return PLAIN;
  const flag = FLAGS[number];
  if (flag !== undefined) return { ...look, flags: [...look.flags.filter((one) => one !== flag), flag] };
  const ended = ENDS[number];
  if (ended !== undefined) return { ...look, flags: look.flags.filter((one) => !ended.includes(one)) };
  if (number === 39) return { ...look, colour: null };
  const place = number >= 30 && number <= 37 ? number - 30 : number >= 90 && number <= 97 ? number - 90 : -1;
  return place < 0 ? look : { ...look, colour: COLOURS[place] ?? null };
}

/** The first 16 have names; others are left as any text. */
function indexedColour(index: number): string | null {
  return index < 16 ? (COLOURS[index % 8] ?? null) : null;
}

function nameOf({ colour, flags }: Look): string {
  return [...(colour === null ? [] : [`ansi-${colour}`]), ...flags.map((flag) => `ansi-${flag}`)].join(' ');
}
