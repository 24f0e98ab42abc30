/** What the HTTP proxy says by itself: statuses, one line of text, and the error type of RFC 9209. */
import { STATUS_CODES } from 'node:http';
import type { DialFailure } from '../net/streams/dialled.ts';
import { THROTTLED_SECONDS, UNAVAILABLE_SECONDS } from './limits.ts';

/** A refusal before it is written, in one form for all ways of writing. */
export interface Answer {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Statuses of failed dials. Source: RFC 9110, 15.6 (502 and 504: it is the way to the target that fails; 503: later may
 * do); RFC 5842, 7.2 (508).
 * A node that nobody knows is 502 as any other name that leads nowhere: a 404 would be taken for the target's own word.
 */
export const DIAL_STATUS = {
  refused: 502,
  unreachable: 502,
  unresolved: 502,
  failed: 502,
  timed_out: 504,
  blocked: 403,
  loop: 508,
  unknown_node: 502,
  offline: 503,
  overloaded: 503,
} as const satisfies Record<DialFailure, number>;

/** Error types in `Proxy-Status`. Source: RFC 9209, 2.3. */
export const DIAL_ERROR = {
  refused: 'connection_refused',
  unreachable: 'destination_ip_unroutable',
  unresolved: 'dns_error',
  failed: 'connection_terminated',
  timed_out: 'connection_timeout',
  blocked: 'destination_ip_prohibited',
  loop: 'proxy_loop_detected',
  unknown_node: 'destination_not_found',
  offline: 'destination_unavailable',
  overloaded: 'connection_limit_reached',
} as const satisfies Record<DialFailure, string>;

/** Name of the proxy in `Proxy-Status`. */
const PROXY_NAME = 'edge';

/** How the proxy is used, for those who took it for a web server. */
export const USAGE =
  'This is an HTTP proxy: use it as one, for example `curl --proxy http://USER:PASSWORD@THIS_HOST:PORT http://TARGET/`.';

/** An error of the proxy itself, with its type. */
export function proxyError(status: number, error: string, message: string): Answer {
  return {
    status,
    message,
    headers: {
      'Proxy-Status': `${PROXY_NAME}; error=${error}`,
      ...(status === 503 && { 'Retry-After': String(UNAVAILABLE_SECONDS) }),
    },
  };
}

/** A dial failed. */
export function dialAnswer(failure: DialFailure, message: string): Answer {
  return proxyError(DIAL_STATUS[failure], DIAL_ERROR[failure], message);
}

/** It shows no credentials that are good, or too many wrong ones came from its address. */
export function admissionAnswer(reason: 'credentials' | 'throttled'): Answer {
  if (reason === 'throttled')
    return {
      status: 429,
      message: 'Too many wrong credentials came from your address: try again later.',
      headers: { 'Retry-After': String(THROTTLED_SECONDS) },
    };
  return {
    status: 407,
    message: 'Give a user name and a password to this proxy: the ones given are missing or wrong.',
    headers: { 'Proxy-Authenticate': 'Basic realm="edge"' },
  };
}

/** Headers of an answer with its body. */
export function answerHeaders({ message, headers }: Answer): Record<string, string> {
  return {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(message) + 1),
    'Cache-Control': 'no-store',
    ...headers,
  };
}

/**
 * What stands beside a status. Always given to Node, which else takes the phrase of an answer that it refused to write
 * before.
 */
export function reasonOf(status: number): string {
  return STATUS_CODES[status] ?? '';
}

/** A whole answer as bytes, for sockets that Node's server let go of. The connection ends with it. */
export function rawAnswer(answer: Answer): string {
  const headers = Object.entries({ ...answerHeaders(answer), Connection: 'close' })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return `HTTP/1.1 ${answer.status} ${reasonOf(answer.status)}\r\n${headers}\r\n${answer.message}\n`;
}
