/**
 * Receivers echo what they got, and the headers that a webhook sends may be secrets: their values do not go into the
 * log of deliveries (E4).
 */
import { decodedForms, type DecodedForm } from './decoded-forms.ts';

/** Stands for such a value in an answer. */
const HIDDEN = '[hidden]';

/** Shorter values are words, not secrets: blanking them would spoil answers. In characters. */
const HIDDEN_CHARS_MIN = 6;

/** Words of one value that are blanked by themselves, too: credentials have a handful, and each is looked for. */
const WORDS_MAX = 32;

/** A part of a text: where it starts, and where what is behind it does. */
type Span = readonly [start: number, end: number];

/** What is looked for. */
interface Secret {
  readonly text: string;
  /** Of each of its beginnings: how many of its first characters it ends with again, itself not counted. */
  readonly borders: Uint16Array;
}

/**
 * Blanks the values in a text, whole or by their words (`Bearer …`), also what `Basic` encodes, in each form in which
 * an echo writes them (decoded-forms.ts), and the beginning of one where the text was cut in it.
 */
export function hideValues(values: readonly string[]): (text: string) => string {
  const secrets = [...new Set(values.flatMap(partsOf))]
    .filter((part) => part.length >= HIDDEN_CHARS_MIN)
    .map((part) => ({ text: part, borders: bordersOf(part) }));
  if (secrets.length === 0) return (text) => text;
  return (text) =>
    blanked(
      text,
      decodedForms(text).flatMap((form) => secrets.flatMap((secret) => spansOf(form, secret))),
    );
}

function partsOf(value: string): readonly string[] {
  const words = value.split(/[\t ]/u, WORDS_MAX);
  const [scheme = '', credentials = ''] = words;
  if (scheme.toLowerCase() !== 'basic') return [value, ...words];
  const user = Buffer.from(credentials, 'base64').toString('latin1'); // RFC 7617, 2: name, colon, password
  return [value, ...words, user, user.slice(user.indexOf(':') + 1)];
}

/** Where the original says the secret, or at its end the beginning of it. */
function spansOf({ text, startOf }: DecodedForm, secret: Secret): readonly Span[] {
  return placesOf(text, secret).map(([start, end]) => [startOf(start), startOf(end)]);
}

/**
 * Places that overlap as one. Both texts are of others' making, so the time grows with their lengths and not with the
 * product (Knuth, Morris and Pratt 1977): neither `indexOf` nor `endsWith` promises that.
 */
function placesOf(text: string, { text: secret, borders }: Secret): readonly Span[] {
  const places: [start: number, end: number][] = [];
  const add = (start: number, end: number): void => {
    const last = places.at(-1);
    if (last !== undefined && start < last[1]) last[1] = end;
    else places.push([start, end]);
  };
  const first = text.indexOf(secret.slice(0, HIDDEN_CHARS_MIN));
  if (first === -1) return places;
  let said = 0;
  for (let at = first; at < text.length; at += 1) {
    said = saidWith(text.charCodeAt(at), said, secret, borders);
    if (said === secret.length) add(at + 1 - said, at + 1);
  }
  if (said >= HIDDEN_CHARS_MIN) add(text.length - said, text.length);
  return places;
}

function bordersOf(secret: string): Uint16Array {
  const borders = new Uint16Array(secret.length);
  for (let at = 1; at < secret.length; at += 1)
    borders[at] = saidWith(secret.charCodeAt(at), borders[at - 1] ?? 0, secret, borders);
  return borders;
}

/** How many first characters of the secret a text ends with that ended with `said` of them before this one. */
function saidWith(char: number, said: number, secret: string, borders: Uint16Array): number {
  let matched = said;
  while (matched > 0 && (matched === secret.length || secret.charCodeAt(matched) !== char))
    matched = borders[matched - 1] ?? 0;
  return secret.charCodeAt(matched) === char ? matched + 1 : 0;
}

function blanked(text: string, spans: readonly Span[]): string {
  let shown = '';
  let behind = 0;
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (start >= behind) shown += text.slice(behind, start) + HIDDEN;
    behind = Math.max(behind, end);
  }
  return shown + text.slice(behind);
}
