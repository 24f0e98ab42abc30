/** What is kept of a receiver's answer: the beginning of its body, and when it wishes to be asked again. Pure. */
import { ANSWER_BYTES_MAX } from '../../../actors/webhook/delivery.ts';
import { RETRY_AFTER_MS_MAX } from '../../../actors/webhook/retry.ts';

const SECONDS = /^\d+$/u;

/** The date of RFC 9110, 5.6.7, and its form of RFC 850, which is obsolete and still sent. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2}(?:\d{2})? \d{2}:\d{2}:\d{2} GMT$/u;

/** Bytes of one UTF-16 unit in UTF-8, at most. */
const UTF8_BYTES_MAX = 3;

/**
 * The receiver's wish in ms from now, at most RETRY_AFTER_MS_MAX; a date that has passed is 0. Null when the header is
 * absent or makes no sense.
 */
export function retryAfterMs(header: string | readonly string[] | undefined, nowMs: number): number | null {
  const text = (typeof header === 'object' ? header[0] : header)?.trim();
  if (text === undefined) return null;
  const ms = SECONDS.test(text) ? Number(text) * 1_000 : HTTP_DATE.test(text) ? Date.parse(text) - nowMs : Number.NaN;
  return Number.isNaN(ms) ? null : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms));
}

/**
 * Text of a body's beginning, at most ANSWER_BYTES_MAX bytes of UTF-8: wrong bytes replaced, NUL removed, since
 * PostgreSQL cannot hold it.
 * A character that the cut went through is left out.
 */
export function answerText(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  if (first === undefined) return '';
  const bytes = chunks.length === 1 ? first : Buffer.concat(chunks);
  const text =
    bytes.byteLength > ANSWER_BYTES_MAX
      ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, ANSWER_BYTES_MAX), { stream: true })
      : bytes.toString();
  const clean = text.includes('\0') ? text.replaceAll('\0', '') : text;
  if (clean.length * UTF8_BYTES_MAX <= ANSWER_BYTES_MAX) return clean;
  // a byte that was replaced takes three
  const { read } = new TextEncoder().encodeInto(clean, new Uint8Array(ANSWER_BYTES_MAX));
  return clean.slice(0, read);
}
