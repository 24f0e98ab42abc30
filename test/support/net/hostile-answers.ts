/**
 * A corpus of HTTP answers that no honest server sends, the same for every run: what parsers take and writers refuse,
 * lies about lengths, cuts and noise.
 */
import { createServer } from 'node:net';
import * as fc from 'fast-check';
import type { Scope } from '../scope.ts';
import { listening } from './listening.ts';

/** Answers in a corpus. Source: what is asked of every place where a server's bytes arrive. */
export const ANSWERS_COUNT = 1_000;

/** One answer, and how its connection ends after it. */
export interface HostileAnswer {
  readonly bytes: Buffer;
  /** A reset in the place of an end. */
  readonly isReset: boolean;
}

/** Text whose units are all below 256, as bytes of HTTP are: control characters, DEL and the upper half included. */
const octets = fc.oneof(
  fc.constantFrom('OK', '', ' ', '\t', 'caf\u00e9', '\0', '\u0001', '\u000b', '\u007f', '\u0080', '\u00ff'),
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCodePoint(code)), maxLength: 12 }),
);
const withoutEnds = octets.map((text) => text.replaceAll(/[\r\n]/gu, '\u0002'));
const version = fc.oneof(
  { weight: 8, arbitrary: fc.constant('HTTP/1.1') },
  fc.constantFrom('HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'ICY', 'SSH-2.0', ''),
);
const status = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('200', '404', '500') },
  fc.constantFrom(
    '000',
    '001',
    '099',
    '100',
    '101',
    '102',
    '103',
    '199',
    '204',
    '205',
    '301',
    '302',
    '304',
    '407',
    '418',
    '599',
    '999',
    '1000',
    '-1',
    '2e2',
    '',
    '\u00b2',
  ),
);
const header = fc.oneof(
  fc.constantFrom(
    'Content-Length: 0',
    'Content-Length: 5',
    'Content-Length: 4294967296',
    'Content-Length: 99999999999999999999',
    'Content-Length: -1',
    'Content-Length: 5, 5',
    'Content-Length:',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: identity',
    'Connection: close',
    'Connection: upgrade, content-length, via',
    'Connection: \u00ff',
    'Keep-Alive: timeout=99999999999',
    'Upgrade: websocket',
    'Upgrade: h2c',
    'Trailer: X',
    'Trailer: Content-Length',
    'Retry-After: 99999999999',
    'Retry-After: -1',
    'Retry-After: 1e308',
    'Retry-After: Thu, 31 Dec 275760 23:59:59 GMT',
    'Location: http://[',
    'Location: //\u00ff',
    'Location: http://x:99999/',
    'Location: \t',
    'Set-Cookie: a=\u0080',
    'Set-Cookie:',
    'Content-Encoding: gzip',
    'Content-Encoding: br, br',
    'Content-Type: \u00ff/\u0080; charset=\u0081',
    'Content-Type: application/json',
    'Via: 1.1 edge',
    'Date: never',
    '__proto__: x',
    'constructor: x',
    'Host: x',
    'Sec-WebSocket-Accept: x',
    'Expect: 100-continue',
  ),
  fc
    .tuple(
      fc.constantFrom('X', 'x-y', 'X-\u00e9', 'X Y', '', ':', 'X\0', 'Content-Length', 'Transfer-Encoding'),
      withoutEnds,
    )
    .map(([name, value]) => `${name}: ${value}`),
);
const body = fc.oneof(
  fc.constantFrom(
    '',
    'hello',
    '5\r\nhello\r\n0\r\n\r\n',
    '5\r\nhello\r\n0\r\nX: \u0001\r\n\r\n',
    '5;a=\u0001\r\nhello\r\n0\r\n\r\n',
    'ffffffffffffffff\r\n',
    '-1\r\n',
    'zz\r\n',
    '{"data":',
    '\u001f\u008b\u0008\0',
    'HTTP/1.1 200 OK\r\n\r\n',
  ),
  octets,
);
const end = fc.oneof({ weight: 8, arbitrary: fc.constant('\r\n') }, fc.constantFrom('\n', '\r', '\n\r', ''));
const one = fc
  .tuple(version, status, fc.option(withoutEnds), fc.array(header, { maxLength: 5 }), body, end)
  .map(
    ([protocol, code, reason, headers, content, line]) =>
      `${protocol} ${code}${reason === null ? '' : ` ${reason}`}${line}${headers.map((text) => `${text}${line}`).join('')}${line}${content}`,
  );

/** Bytes that are changed, put in or left out after an answer was made. */
const damage = fc.record({
  at: fc.nat(400),
  byte: fc.nat(255),
  kind: fc.constantFrom('none', 'none', 'none', 'changed', 'put in', 'cut'),
});

const hostile = fc
  .tuple(fc.array(one, { minLength: 1, maxLength: 3 }), damage, fc.boolean())
  .map(([answers, { at, byte, kind }, isReset]): HostileAnswer => {
    const bytes = Buffer.from(answers.join(''), 'latin1');
    const place = bytes.length === 0 ? 0 : at % bytes.length;
    if (kind === 'changed' && bytes.length > 0) bytes[place] = byte;
    const put =
      kind === 'put in' ? Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place)]) : bytes;
    return { bytes: kind === 'cut' ? put.subarray(0, place) : put, isReset };
  });

/** Each octet where a line of the status may hold one: what a parser lets through and a writer must not repeat. */
const reasons: readonly HostileAnswer[] = Array.from({ length: 256 }, (_, code) => ({
  bytes: Buffer.from(`HTTP/1.1 200 O${String.fromCodePoint(code)}K\r\nContent-Length: 2\r\nX: y\r\n\r\nok`, 'latin1'),
  isReset: false,
}));

/** The corpus: the same answers for the same seed. */
export function hostileAnswers(seed = 20_261_122): readonly HostileAnswer[] {
  return [...reasons, ...fc.sample(hostile, { numRuns: ANSWERS_COUNT - reasons.length, seed })];
}

/**
 * A server that answers the request for a path that begins with `/<index>` with that answer, and any other with an
 * honest `well`. Resolves with its port.
 */
export async function openHostileTarget(
  scope: Scope,
  answers: readonly HostileAnswer[],
  indexOf: (request: string) => number = indexInPath,
): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    socket.once('data', (request) => {
      const asked = answers[indexOf(request.toString('latin1'))];
      if (asked === undefined) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwell');
      else if (asked.isReset) socket.write(asked.bytes, () => socket.resetAndDestroy());
      else socket.end(asked.bytes);
    }),
  );
  return listening(scope, server);
}

function indexInPath(request: string): number {
  return Number(/^[A-Z]+ \/(?<index>\d+)[/ ]/u.exec(request)?.groups?.['index'] ?? NaN);
}

/** Does it for each index of a corpus, so many at a time. */
export async function forEachAnswer(
  answers: readonly HostileAnswer[],
  atOnce: number,
  run: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < answers.length) {
        next += 1;
        await run(next - 1);
      }
    }),
  );
}
