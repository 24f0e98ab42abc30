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

/**
 * Blanks the values in a text, whole or by their words (`Bearer …`), also what `Basic` encodes, in each form in which
 * an echo writes them (decoded-forms.ts), and the beginning of one where the text was cut in it.
 */
export function hideValues(values: readonly string[]): (text: string) => string {
  const secrets = [...new Set(values.flatMap(secretsOf))].filter((secret) => secret.length >= HIDDEN_CHARS_MIN);
  if (secrets.length === 0) return (text) => text;
  return (text) =>
    blanked(
      text,
      decodedForms(text).flatMap((form) => secrets.flatMap((secret) => spansOf(form, secret))),
    );
}

function secretsOf(value: string): readonly string[] {
  const words = value.split(/[\t ]/u, WORDS_MAX);
  const [scheme = '', credentials = ''] = words;
  if (scheme.toLowerCase() !== 'basic') return [value, ...words];
  const user = Buffer.from(credentials, 'base64').toString('latin1'); // RFC 7617, 2: name, colon, password
  return [value, ...words, user, user.slice(user.indexOf(':') + 1)];
}

/** Where the original says the secret, or at its end the beginning of it. */
function spansOf({ text, startOf }: DecodedForm, secret: string): readonly Span[] {
  const found: (readonly [at: number, length: number])[] = [];
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
    found.push([at, secret.length]);
  const cutAt = beginningAtEnd(text, secret);
  if (cutAt !== -1) found.push([cutAt, text.length - cutAt]);
  return found.map(([at, length]) => [startOf(at), startOf(at + length)]);
}

/** Where the longest beginning of the secret starts that the text ends with; -1 without one. */
function beginningAtEnd(text: string, secret: string): number {
  const last = text.at(-1);
  for (let length = Math.min(text.length, secret.length - 1); length >= HIDDEN_CHARS_MIN; length -= 1) {
    if (secret[length - 1] === last && text.endsWith(secret.slice(0, length))) return text.length - length;
  }
  return -1;
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
