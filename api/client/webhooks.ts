/**
 * Whether a request is what the service signed: over its body, and as Standard Webhooks has it over id, time and body
 * (https://www.standardwebhooks.com).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { EdgeEvent } from './api.ts';

/** How far the time of a request may be from ours, in seconds. Source: the libraries of Standard Webhooks. */
export const AGE_SECONDS_MAX = 300;

/** What a secret begins with when the key of Standard Webhooks is the base64 behind it. */
const ENCODED_PREFIX = 'whsec_';
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/u;

/** Values of headers by name in lower case, each as often as it came: `headersDistinct` of a request. */
export type HeaderValues = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * Why a request is not to be believed: at most a sentence for each of the two signatures. None: both are right. `body`
 * is its exact bytes, `nowMs` Unix time.
 */
export type Verify = (headers: HeaderValues, body: Uint8Array, nowMs: number) => readonly string[];

/**
 * Verifies under a secret. The signature over the body alone takes the whole secret as its key. Compares in constant
 * time.
 */
export function createVerify(secret: string): Verify {
  const edgeKey = Buffer.from(secret);
  const standardKey = standardKeyOf(secret);
  return (headers, body, nowMs) =>
    [edgeProblem(edgeKey, headers, body), standardProblem(standardKey, headers, body, nowMs)].filter(
      (problem) => problem !== null,
    );
}

/** A request as it came. */
export interface Delivery {
  /** The webhook's. */
  readonly secret: string;
  /** `headers` or `headersDistinct` of a request in Node, or `Headers` of fetch. */
  readonly headers: HeaderValues | Readonly<Record<string, string | readonly string[] | undefined>> | Headers;
  /** Its exact bytes, or their text: never what a parser made of them. */
  readonly body: Uint8Array | string;
  /** Unix time. Default: now. */
  readonly nowMs?: number;
}

/** The event of a delivery, or why it is not to be believed: answer such a request with 401. */
export type Verified =
  | { readonly ok: true; readonly event: EdgeEvent }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * Verifies both signatures of a delivery and reads its event. Events come at least once: drop those whose `id` you have
 * seen.
 */
export function verifyDelivery({ secret, headers, body, nowMs = Date.now() }: Delivery): Verified {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const problems = createVerify(secret)(valuesOf(headers), bytes, nowMs);
  if (problems.length > 0) return { ok: false, problems };
  try {
    return { ok: true, event: JSON.parse(Buffer.from(bytes).toString()) as EdgeEvent };
  } catch {
    return { ok: false, problems: ['the body is no JSON'] };
  }
}

function valuesOf(headers: Delivery['headers']): HeaderValues {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(
    entries.map(([name, value]) => [name.toLowerCase(), typeof value === 'string' ? [value] : value]),
  );
}

function edgeProblem(key: Uint8Array, headers: HeaderValues, body: Uint8Array): string | null {
  const problem = countProblem(headers, 'X-Edge-Signature');
  if (problem !== null) return problem;
  const expected = `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
  return isSame(valueOf(headers, 'X-Edge-Signature'), expected)
    ? null
    : 'X-Edge-Signature does not fit: the secret is another one, or the body was changed';
}

function standardProblem(key: Uint8Array, headers: HeaderValues, body: Uint8Array, nowMs: number): string | null {
  const counts = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
    .map((name) => countProblem(headers, name))
    .filter((problem) => problem !== null);
  if (counts.length > 0) return counts.join('; ');

  const [id, timestamp, signatures] = [
    valueOf(headers, 'webhook-id'),
    valueOf(headers, 'webhook-timestamp'),
    valueOf(headers, 'webhook-signature'),
  ];
  const expected = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
  // Several stand there while a secret is replaced by another.
  if (!signatures.split(' ').some((signature) => isSame(signature, expected)))
    return 'webhook-signature does not fit: the secret is another one, or id, time or body were changed';
  return ageProblem(timestamp, nowMs);
}

/** Told only of a time that is signed: then it is a clock that is wrong, or somebody who sends an old request again. */
function ageProblem(timestamp: string, nowMs: number): string | null {
  if (!/^\d{1,12}$/u.test(timestamp)) return 'webhook-timestamp is no time in Unix seconds';
  const age = Math.floor(nowMs / 1_000) - Number(timestamp);
  if (Math.abs(age) <= AGE_SECONDS_MAX) return null;
  return `webhook-timestamp is ${Math.abs(age)} s ${age > 0 ? 'old' : 'ahead'}, more than ${AGE_SECONDS_MAX}: it is an old request, or one of the clocks is wrong`;
}

function countProblem(headers: HeaderValues, name: string): string | null {
  const values = headers[name.toLowerCase()] ?? [];
  if (values.length > 1) return `${name} is there ${values.length} times`;
  return (values[0] ?? '') === '' ? `${name} is missing` : null;
}

function valueOf(headers: HeaderValues, name: string): string {
  return headers[name.toLowerCase()]?.[0] ?? '';
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The key behind `whsec_`; the UTF-8 bytes of a secret that is none of that form. */
function standardKeyOf(secret: string): Uint8Array {
  const encoded = secret.startsWith(ENCODED_PREFIX) ? secret.slice(ENCODED_PREFIX.length) : '';
  return encoded !== '' && BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.from(secret);
}
