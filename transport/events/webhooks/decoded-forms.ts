/**
 * What a text says where parts of it are escaped or encoded: by JSON, as a URL or a form, in HTML, in base64 or in hex.
 * Pure.
 */

/** A text in one form. */
export interface DecodedForm {
  readonly text: string;
  /** Where a character stands in the original, or the end of the text its end. */
  readonly startOf: (at: number) => number;
}

/** From `said` on in a form, the characters are those from `start` on in the original. */
interface Piece {
  readonly said: number;
  readonly start: number;
}

/**
 * Characters by `hex`, `decimal` or `name`; a `name` that is none of NAMES stands for itself. What was cut at the end
 * of the text stands for nothing.
 */
const JSON_ESCAPE = /\\u(?<hex>[\da-f]{4})|\\(?<name>[^u])|\\(?:u[\da-f]{0,3})?$/giu;
const URL_ESCAPE = /%(?<hex>[\da-f]{2})|%[\da-f]?$/giu;
const FORM_ESCAPE = /%(?<hex>[\da-f]{2})|(?<name>\+)|%[\da-f]?$/giu;
const HTML_ESCAPE =
  /&#x(?<hex>[\da-f]{1,5});|&#(?<decimal>\d{1,6});|&(?<name>quot|amp|lt|gt|apos);|&(?:#?[\da-z]{0,6})$/giu;

const NAMES: Readonly<Record<string, string>> = {
  t: '\t',
  '+': ' ',
  quot: '"',
  amp: '&',
  lt: '<',
  gt: '>',
  apos: "'",
};

/** Both alphabets of base64 (RFC 4648, 4 and 5), and hex. Shorter ones hold fewer than six characters. */
const BASE64_RUN = /[\w+/-]{8,}/gu;
const HEX_RUN = /[\da-f]{12,}/giu;
const ENCODINGS = { base64: { group: 4, charsPerByte: 4 / 3 }, hex: { group: 2, charsPerByte: 2 } } as const;

/** The text itself first, then each form in which it says anything else. JSON may stand in a text of JSON. */
export function decodedForms(text: string): readonly DecodedForm[] {
  const plain: DecodedForm = { text, startOf: (at) => at };
  const json = unescaped(plain, JSON_ESCAPE);
  return [
    plain,
    ...json,
    ...json.flatMap((form) => unescaped(form, JSON_ESCAPE)),
    ...unescaped(plain, URL_ESCAPE),
    ...unescaped(plain, FORM_ESCAPE),
    ...unescaped(plain, HTML_ESCAPE),
    ...decoded(text, BASE64_RUN, 'base64'),
    ...decoded(text, HEX_RUN, 'hex'),
  ];
}

/** The form without its escapes; none where it has none. */
function unescaped({ text, startOf }: DecodedForm, escape: RegExp): readonly DecodedForm[] {
  const pieces: Piece[] = [];
  let said = '';
  let behind = 0;
  for (const { 0: whole, index, groups } of text.matchAll(escape)) {
    said += text.slice(behind, index);
    pieces.push({ said: said.length, start: index });
    said += charOf(groups);
    behind = index + whole.length;
    pieces.push({ said: said.length, start: behind });
  }
  if (behind === 0) return [];
  return [{ text: said + text.slice(behind), startOf: (at) => startOf(startIn(pieces, at, 1)) }];
}

function charOf({ hex, decimal, name }: Readonly<Record<string, string | undefined>> = {}): string {
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  if (decimal !== undefined) return String.fromCharCode(Number(decimal));
  return name === undefined ? '' : (NAMES[name.toLowerCase()] ?? name);
}

/** What the runs of an encoding say. Where its groups of characters begin is not known, so each place is tried. */
function decoded(text: string, run: RegExp, encoding: 'base64' | 'hex'): readonly DecodedForm[] {
  const runs = [...text.matchAll(run)];
  if (runs.length === 0) return [];
  const { group, charsPerByte } = ENCODINGS[encoding];
  return Array.from({ length: group }, (_, skipped) => {
    const pieces: Piece[] = [];
    let said = '';
    for (const { 0: whole, index } of runs) {
      pieces.push({ said: said.length, start: index + skipped });
      said += Buffer.from(whole.slice(skipped), encoding).toString('latin1');
      if (index + whole.length < text.length) said += '\0'; // no value goes on behind a run
    }
    return { text: said, startOf: (at) => startIn(pieces, at, charsPerByte) };
  });
}

function startIn(pieces: readonly Piece[], at: number, charsEach: number): number {
  let [low, high] = [0, pieces.length]; // pieces before `low` begin at `at` or before it, those from `high` on behind it
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pieces[middle]?.said ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const { said, start } = pieces[low - 1] ?? { said: 0, start: 0 };
  return start + Math.floor((at - said) * charsEach);
}
