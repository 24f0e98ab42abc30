/**
 * Receivers echo what they got, and the headers that a webhook sends may be secrets: their values do not go into the
 * log of deliveries (E4).
 */

/** Stands for such a value in an answer. */
const HIDDEN = '[hidden]';

/** Shorter values are words, not secrets: blanking them would spoil answers. In characters. */
const HIDDEN_CHARS_MIN = 6;

/**
 * Blanks the values in a text, whole or by their words (`Bearer …`), and the beginning of one where the text was cut in
 * it.
 */
export function hideValues(values: readonly string[]): (text: string) => string {
  const secrets = [...new Set(values.flatMap((value) => [value, ...value.split(' ')]))]
    .filter((value) => value.length >= HIDDEN_CHARS_MIN)
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((rest, secret) => withoutCut(rest.replaceAll(secret, HIDDEN), secret), text);
}

function withoutCut(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= HIDDEN_CHARS_MIN; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + HIDDEN;
  }
  return text;
}
