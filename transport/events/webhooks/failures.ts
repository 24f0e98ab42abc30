/**
 * Why a try came to no answer: a kind to count by, and a sentence for the webhook's owner that names no address and no
 * secret.
 */
import { errors } from 'undici';
import { AddressRefused, NameUnresolved } from '../../net/outbound-guard/guard.ts';

/** Kinds of failures, for counting. */
export const FAILURE_KINDS = [
  'address-refused',
  'unresolved',
  'connection-refused',
  'unreachable',
  'timed-out',
  'closed',
  'tls',
  'not-http',
  'headers-too-large',
  'event-gone',
  'unsendable',
  'other',
] as const;

/** One of them. */
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** A try without an answer. */
export interface Failure {
  readonly kind: FailureKind;
  readonly sentence: string;
}

const CLOSED: Failure = { kind: 'closed', sentence: 'The connection was closed before an answer came.' };
const NO_HTTP: Failure = { kind: 'not-http', sentence: 'What came was no HTTP/1.1 answer.' };
const UNREACHABLE: Failure = { kind: 'unreachable', sentence: 'The host could not be reached.' };
const UNRESOLVED: Failure = { kind: 'unresolved', sentence: 'The name of the host does not resolve.' };
const SLOW_DIAL: Failure = { kind: 'timed-out', sentence: 'The connection was not open in time.' };
const SELF_SIGNED: Failure = { kind: 'tls', sentence: 'The certificate is self-signed.' };
const UNKNOWN_ISSUER: Failure = {
  kind: 'tls',
  sentence: 'The certificate comes from no known authority, or its chain is not complete.',
};

/** Codes of Node, OpenSSL and undici. Sources: Node's documentation of errors and TLS, undici/lib/core/errors.js. */
const BY_CODE: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: { kind: 'connection-refused', sentence: 'The connection was refused.' },
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EHOSTDOWN: UNREACHABLE,
  ENETDOWN: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  EACCES: UNREACHABLE,
  EPERM: UNREACHABLE,
  ENOTFOUND: UNRESOLVED,
  EAI_AGAIN: UNRESOLVED,
  EAI_FAIL: UNRESOLVED,
  EAI_NODATA: UNRESOLVED,
  ETIMEDOUT: SLOW_DIAL,
  UND_ERR_CONNECT_TIMEOUT: SLOW_DIAL,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: NO_HTTP,
  UND_ERR_HEADERS_OVERFLOW: { kind: 'headers-too-large', sentence: 'The headers of the answer were too large.' },
  CERT_HAS_EXPIRED: { kind: 'tls', sentence: 'The certificate has expired.' },
  CERT_NOT_YET_VALID: { kind: 'tls', sentence: 'The certificate is not valid yet.' },
  ERR_TLS_CERT_ALTNAME_INVALID: { kind: 'tls', sentence: 'The certificate is for another host.' },
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  SELF_SIGNED_CERT_IN_CHAIN: SELF_SIGNED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  CERT_UNTRUSTED: UNKNOWN_ISSUER,
};

/** Other reasons of OpenSSL for which a certificate is not taken. */
const CERTIFICATE = /^(?:CERT_|CRL_|UNABLE_TO_|ERR_TLS_|ERROR_IN_|INVALID_|PATH_LENGTH|HOSTNAME_MISMATCH)/u;

/** A try that took too long; `isSent`: the request had gone out. */
export function lateFailure(isSent: boolean, msMax: number): Failure {
  return {
    kind: 'timed-out',
    sentence: isSent ? `No answer came within ${msMax} ms.` : `The connection was not open within ${msMax} ms.`,
  };
}

/** What an error of the request means. */
export function failureOf(error: unknown): Failure {
  if (error instanceof AddressRefused) return { kind: 'address-refused', sentence: error.message };
  if (error instanceof NameUnresolved) return { kind: 'unresolved', sentence: error.message };
  if (error instanceof errors.HTTPParserError) return NO_HTTP; // undici 8 gives it no code
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code !== 'string') return { kind: 'other', sentence: 'The request failed.' };
  // undici gives up on an answer of 100 or 101 with the code of a closed connection.
  if (code === 'UND_ERR_SOCKET' && typeof message === 'string' && message.startsWith('bad '))
    return { kind: 'not-http', sentence: 'The answer was a switch of protocols, or a 100, which nobody asked for.' };
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (CERTIFICATE.test(code)) return { kind: 'tls', sentence: `The certificate was not accepted (${code}).` };
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return {
      kind: 'tls',
      sentence:
        'The TLS handshake failed: the server speaks no TLS here, or no version, cipher or protocol that both know.',
    };
  return { kind: 'other', sentence: `The request failed (${code}).` };
}

/** Whether a connection ended by itself, as one does that its server closes. */
export function isClosed(failure: Failure): boolean {
  return failure === CLOSED;
}
