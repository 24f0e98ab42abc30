/**
 * Signatures of deliveries: one over the body, and those of Standard Webhooks over id, time and body
 * (https://www.standardwebhooks.com).
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** What a secret begins with when the key is the base64 behind it. Source: Standard Webhooks 1.0. */
const ENCODED_PREFIX = 'whsec_';

/** Base64 as every library of Standard Webhooks reads it, padded or not. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/u;

/** Values of the two signature headers of one try. */
export interface Signatures {
  /**
   * `X-Edge-Signature`: `sha256=` and the lowercase hex HMAC-SHA256 of the body; the key is the whole secret in UTF-8.
   * Source: docs/events.md.
   */
  readonly edge: string;
  /**
   * `webhook-signature`: `v1,` and the base64 HMAC-SHA256 of `{id}.{timestamp}.{body}`; for the key see {@link
   * standardKey}.
   */
  readonly standard: string;
}

/** Signs the exact bytes that are sent. `timestamp` is in Unix seconds. */
export type Sign = (id: string, timestamp: number, body: Uint8Array) => Signatures;

/** Holds the keys of a secret in a form that costs nothing to use again. */
export function createSign(secret: string): Sign {
  const key = createSecretKey(secret, 'utf8');
  const standard = standardKey(secret) ?? key;
  return (id, timestamp, body) => ({
    edge: `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
    standard: `v1,${createHmac('sha256', standard).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  });
}

/** The key behind `whsec_`; null where the secret is none of that form, and its own UTF-8 bytes are the key. */
function standardKey(secret: string): KeyObject | null {
  const encoded = secret.startsWith(ENCODED_PREFIX) ? secret.slice(ENCODED_PREFIX.length) : '';
  return encoded !== '' && BASE64.test(encoded) ? createSecretKey(encoded, 'base64') : null;
}
