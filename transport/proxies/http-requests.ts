/** Requests to the HTTP proxy, as far as they can be judged by their headers. Pure. */
import type { IncomingMessage } from 'node:http';
import { USAGE, type Answer } from './http-answers.ts';
import { HEADER_LINES_MAX } from './limits.ts';
import type { Credentials } from './ports.ts';
import { authorityOf, type Target } from './client-targets.ts';

/** The part of a request that is judged. */
export interface RequestHead extends Pick<IncomingMessage, 'method' | 'url' | 'httpVersion'> {
  readonly rawHeaders: readonly string[];
}

/** A request that may be sent on. */
export interface Forwarded {
  readonly ok: true;
  readonly target: Target;
  /** Authority as the client wrote it, for `Host`. */
  readonly authority: string;
  /** Origin-form, or `*`. */
  readonly path: string;
}

/** What is wrong with a request, and under which reason it is counted. */
export interface Unfit {
  readonly ok: false;
  readonly reason: 'malformed' | 'unsupported' | 'loop';
  readonly answer: Answer;
}

/**
 * Headers of one connection only. Source: RFC 9110, 7.6.1; the last two are older. `Trailer` since trailers are not
 * passed on.
 */
const HOP_BY_HOP = new Set([
  'connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authorization',
  'proxy-authenticate',
  'proxy-authentication-info',
  'keep-alive',
  'proxy-connection',
]);

const ABSOLUTE_FORM = /^http:\/\/(?<authority>[^/?#]*)(?<path>[^#]*)/iu;

/** Credentials in Basic form. Source: RFC 7617, 2. */
const BASIC = /^basic +(?<pair>[a-z\d+/]+={0,2})$/iu;

/** What a client shows, or null when it shows nothing that can be read. */
export function credentialsOf(header: string | undefined): Credentials | null {
  const pair = BASIC.exec(header ?? '')?.groups?.['pair'];
  if (pair === undefined) return null;
  const text = Buffer.from(pair, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon === -1 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Where a CONNECT leads. `pseudonym` is this proxy's name in `Via`. */
export function readConnect(
  head: RequestHead,
  pseudonym: string,
): { readonly ok: true; readonly target: Target } | Unfit {
  const problem = headProblem(head, pseudonym);
  if (problem !== null) return problem;
  if (values(head, 'transfer-encoding').length > 0 || values(head, 'content-length').some((length) => length !== '0'))
    return malformed('A CONNECT has no body.');
  const target = authorityOf(head.url ?? '', null);
  return target === null ? malformed('CONNECT wants HOST:PORT, or [IPv6]:PORT.') : { ok: true, target };
}

/** Where an absolute-form request leads. */
export function readForwarded(head: RequestHead, pseudonym: string): Forwarded | Unfit {
  const problem = headProblem(head, pseudonym) ?? framingProblem(head);
  if (problem !== null) return problem;
  const url = head.url ?? '';
  const { authority = '', path = '' } = ABSOLUTE_FORM.exec(url)?.groups ?? {};
  if (authority === '') return unfitTarget(url);
  const target = authorityOf(authority, 80);
  if (target === null) return malformed('The URL wants a host, a port from 1 to 65535, and no user name.');
  if (head.httpVersion === '1.1' && values(head, 'host').length === 0) return malformed('The header Host is missing.');
  if (values(head, 'upgrade').some((protocol) => /websocket/iu.test(protocol)))
    return unsupported(501, 'WebSockets go through CONNECT.');
  return { ok: true, target, authority, path: pathOf(path, head.method) };
}

/**
 * Headers for the next hop: what is for one connection only is left out, with all that `Connection` names and `also`,
 * and `Via` is extended. Framing (`Content-Length`) is kept whatever `Connection` says, or a body would turn into a
 * request.
 */
export function passedOn(
  rawHeaders: readonly string[],
  httpVersion: string,
  pseudonym: string,
  also: readonly string[] = [],
): string[] {
  const named = values({ rawHeaders }, 'connection').flatMap((value) =>
    value.split(',').map((name) => name.trim().toLowerCase()),
  );
  const dropped = new Set([...HOP_BY_HOP, ...named, ...also]);
  if (!also.includes('content-length')) dropped.delete('content-length');
  dropped.delete('via');
  const kept = pairs(rawHeaders).filter(([name]) => !dropped.has(name.toLowerCase()));
  return [...kept, ['Via', `${httpVersion} ${pseudonym}`] as const].flat();
}

/**
 * A target's reason phrase as Node writes it: parsers take any octet but line ends, and a writer throws at a control
 * character. Source: RFC 9112, 4.
 */
export function passedReason(phrase: string | undefined): string {
  return (phrase ?? '').replaceAll(/[^\t\u0020-\u007e\u0080-\u00ff]/gu, ' ');
}

/** All values of a header. `name` in lower case. */
export function values({ rawHeaders }: Pick<RequestHead, 'rawHeaders'>, name: string): string[] {
  return pairs(rawHeaders)
    .filter(([key]) => key.toLowerCase() === name)
    .map(([, value]) => value);
}

function pairs(rawHeaders: readonly string[]): (readonly [string, string])[] {
  return Array.from(
    { length: rawHeaders.length / 2 },
    (_, index) => [rawHeaders[index * 2] ?? '', rawHeaders[index * 2 + 1] ?? ''] as const,
  );
}

function headProblem(head: RequestHead, pseudonym: string): Unfit | null {
  if (head.httpVersion !== '1.1' && head.httpVersion !== '1.0')
    return malformed('The request must be of HTTP 1.1 or 1.0.'); // Node takes a line without a version, too
  if (head.rawHeaders.length / 2 > HEADER_LINES_MAX)
    return unfit('malformed', 431, `A request may have ${HEADER_LINES_MAX} header lines.`);
  if (values(head, 'host').length > 1) return malformed('The header Host comes twice.');
  const passed = values(head, 'via').flatMap((value) => value.split(',').map((hop) => hop.trim().split(/\s+/u)[1]));
  if (passed.includes(pseudonym))
    return {
      ok: false,
      reason: 'loop',
      answer: {
        status: 508,
        message: 'This request has been through this proxy already.',
        headers: { 'Proxy-Status': 'edge; error=proxy_loop_detected' },
      },
    };
  return null;
}

/**
 * Lengths on which two programs may disagree. Node's parser refuses most; this is what it takes. Source: RFC 9112, 6.1
 * and 6.3.
 */
function framingProblem(head: RequestHead): Unfit | null {
  const codings = values(head, 'transfer-encoding');
  const lengths = values(head, 'content-length');
  if (codings.length > 0 && (lengths.length > 0 || head.httpVersion !== '1.1'))
    return malformed(
      'The length of the body is unclear: Transfer-Encoding stands beside Content-Length, or in HTTP/1.0.',
    );
  if (lengths.length > 1 || lengths.some((length) => !/^\d+$/u.test(length)))
    return malformed('Content-Length must be one number.');
  if (codings.length > 1 || codings.some((coding) => coding.toLowerCase() !== 'chunked'))
    return unsupported(501, 'The only Transfer-Encoding is chunked.');
  return null;
}

function unfitTarget(url: string): Unfit {
  if (url.startsWith('/') || url === '*') return malformed(USAGE);
  if (/^(?:https|wss?):/iu.test(url))
    return unsupported(501, 'Only http:// is sent on: everything else goes through CONNECT.');
  return malformed('The request wants a whole URL: http://HOST/PATH.');
}

/** Source: RFC 9112, 3.2.1 and 3.2.4. */
function pathOf(path: string, method: string | undefined): string {
  if (path === '') return method === 'OPTIONS' ? '*' : '/';
  return path.startsWith('/') ? path : `/${path}`;
}

function malformed(message: string): Unfit {
  return unfit('malformed', 400, message);
}

function unsupported(status: number, message: string): Unfit {
  return unfit('unsupported', status, message);
}

function unfit(reason: Unfit['reason'], status: number, message: string): Unfit {
  return { ok: false, reason, answer: { status, message } };
}
