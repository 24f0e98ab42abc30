import test from 'ava';
import * as fc from 'fast-check';
import {
  credentialsOf,
  passedOn,
  readConnect,
  readForwarded,
  type RequestHead,
} from '../../../../transport/proxies/http-requests.ts';
import { authorityOf } from '../../../../transport/proxies/client-targets.ts';

const SELF = 'edge-self';

function head(
  url: string,
  rawHeaders: readonly string[] = ['Host', 'x'],
  more: Partial<RequestHead> = {},
): RequestHead {
  return { method: 'GET', url, httpVersion: '1.1', rawHeaders, ...more };
}

test('a whole URL is taken apart as it stands', (t) => {
  const read = (url: string, method = 'GET') => readForwarded(head(url, ['Host', 'other'], { method }), SELF);

  t.deepEqual(read('http://Web-1.edge/a/../b?c=d%20e'), {
    ok: true,
    target: { host: 'web-1.edge', port: 80 },
    authority: 'Web-1.edge',
    path: '/a/../b?c=d%20e',
  });
  t.like(read('HTTP://web-1:8080'), { target: { host: 'web-1', port: 8_080 }, path: '/' });
  t.like(read('http://[2001:DB8::1]:81?x'), {
    target: { host: '2001:db8::1', port: 81 },
    authority: '[2001:DB8::1]:81',
    path: '/?x',
  });
  t.like(read('http://web-1#part'), { path: '/' });
  t.like(read('http://web-1', 'OPTIONS'), { path: '*' });
});

test('what is no whole http URL is refused, with what to do', (t) => {
  const refused = (url: string) => {
    const read = readForwarded(head(url), SELF);
    return read.ok ? read : [read.answer.status, read.reason];
  };

  for (const url of [
    '/',
    '*',
    '',
    'web-1',
    'ftp://web-1/',
    'http://',
    'http:///x',
    'http://user:pass@web-1/',
    'http://web-1:0/',
    'http://web-1:65536/',
    'http://web-1:8a/',
    'http://[::1/',
    'http://::1/',
    'http://[web-1]/',
    'http://a b/',
    'http://a\\@b/',
    'http://%31/',
    'http://[fe80::1%eth0]/',
    'http://b\u00fccher/',
    'http://web-1:/',
  ])
    t.deepEqual(refused(url), [400, 'malformed'], url);
  for (const url of ['https://web-1/', 'wss://web-1/']) t.deepEqual(refused(url), [501, 'unsupported'], url);
});

test('framing on which two programs may disagree is refused', (t) => {
  const refused = (...rawHeaders: string[]) => {
    const read = readForwarded(head('http://web-1/', ['Host', 'x', ...rawHeaders], { method: 'POST' }), SELF);
    return read.ok ? 'sent on' : read.answer.status;
  };

  t.is(refused('Content-Length', '5'), 'sent on');
  t.is(refused('Transfer-Encoding', 'Chunked'), 'sent on');
  t.is(refused('Content-Length', '5', 'Transfer-Encoding', 'chunked'), 400);
  t.is(refused('Content-Length', '5', 'content-length', '5'), 400);
  t.is(refused('Content-Length', '5, 5'), 400);
  t.is(refused('Content-Length', '+5'), 400);
  t.is(refused('Content-Length', '0x5'), 400);
  t.is(refused('Transfer-Encoding', 'gzip, chunked'), 501);
  t.is(refused('Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'), 501);
  t.is(refused('Transfer-Encoding', 'xchunked'), 501);
  t.is(refused('Host', 'y'), 400);
  t.is(refused('Upgrade', 'websocket'), 501);
  t.is(refused('Upgrade', 'h2c'), 'sent on');
  t.like(readForwarded(head('http://web-1/', ['Transfer-Encoding', 'chunked'], { httpVersion: '1.0' }), SELF), {
    ok: false,
    reason: 'malformed',
  });
  t.like(readForwarded(head('http://web-1/', []), SELF), { ok: false, reason: 'malformed' });
  t.like(readForwarded(head('http://web-1/', [], { httpVersion: '1.0' }), SELF), { ok: true });
});

test('CONNECT wants a host with a port, and no body', (t) => {
  t.deepEqual(readConnect(head('Web-1.edge:22', []), SELF), { ok: true, target: { host: 'web-1.edge', port: 22 } });
  t.like(readConnect(head('[::1]:22', ['Host', 'x', 'Content-Length', '0']), SELF), {
    target: { host: '::1', port: 22 },
  });
  for (const url of ['web-1', 'web-1:', '::1:22', 'http://web-1:22', 'web-1:22/', 'user@web-1:22', ':22'])
    t.like(readConnect(head(url, []), SELF), { ok: false, answer: { status: 400 } }, url);
  for (const extra of [
    ['Content-Length', '5'],
    ['Transfer-Encoding', 'chunked'],
    ['Host', 'a', 'Host', 'b'],
  ])
    t.like(readConnect(head('web-1:22', extra), SELF), { ok: false, answer: { status: 400 } });
});

test('a request that has been here is refused, by CONNECT too', (t) => {
  const via = ['Host', 'x', 'Via', '1.0 fred, 1.1 other (a, b)', 'via', `1.1 ${SELF}, 1.1 squid`];

  t.like(readForwarded(head('http://web-1/', via), SELF), { ok: false, reason: 'loop', answer: { status: 508 } });
  t.like(readConnect(head('web-1:22', via), SELF), { ok: false, reason: 'loop', answer: { status: 508 } });
  t.like(readForwarded(head('http://web-1/', ['Host', 'x', 'Via', `1.1 ${SELF}2`]), SELF), { ok: true });
});

test('too many header lines are refused, not cut off', (t) => {
  const many = Array.from({ length: 101 }, (_, index) => [`x-${index}`, '1']).flat();

  t.like(readForwarded(head('http://web-1/', many), SELF), { ok: false, answer: { status: 431 } });
});

test('headers for one connection stay here, with those that Connection names; framing does not', (t) => {
  const raw = [
    'A',
    '1',
    'Connection',
    'close, X-Mine',
    'connection',
    'content-length, Via',
    'x-mine',
    'secret',
    'Keep-Alive',
    '5',
    'TE',
    'trailers',
    'Trailer',
    'x',
    'Transfer-Encoding',
    'chunked',
    'Upgrade',
    'h2c',
    'Proxy-Authorization',
    'Basic c2VjcmV0',
    'Proxy-Connection',
    'keep-alive',
    'Content-Length',
    '5',
    'Set-Cookie',
    'a',
    'Set-Cookie',
    'b',
    'Via',
    '1.0 before',
    'Host',
    'mine',
  ];

  t.deepEqual(passedOn(raw, '1.1', SELF, ['host']), [
    'A',
    '1',
    'Content-Length',
    '5',
    'Set-Cookie',
    'a',
    'Set-Cookie',
    'b',
    'Via',
    '1.0 before',
    'Via',
    `1.1 ${SELF}`,
  ]);
});

test('credentials are read as RFC 7617 says', (t) => {
  const of = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  t.deepEqual(credentialsOf(of('_:pa:ss wörd')), { username: '_', password: 'pa:ss wörd' });
  t.deepEqual(credentialsOf(of(':')), { username: '', password: '' });
  t.deepEqual(credentialsOf('bASIC   Xzp4'), { username: '_', password: 'x' });
  for (const header of [undefined, '', 'Basic', 'Basic !!', 'Bearer Xzp4', of('no colon'), 'Basic Xzp4 more'])
    t.is(credentialsOf(header), null);
});

test('an authority leads where a browser would go, or nowhere', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webAuthority({ withIPv4: true, withIPv6: true, withPort: true, withUserInfo: true }),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        const read = authorityOf(text, 80);
        if (read === null) return true;
        const url = new URL(`http://${text}/`);
        const host = url.hostname.replaceAll(/[[\]]/gu, '');
        return (
          url.username === '' &&
          Number(url.port || '80') === read.port &&
          (host === read.host || read.host.includes(':') || /^[\d.x]+$/u.test(read.host))
        );
      },
    ),
    { numRuns: 2_000 },
  );
  t.pass();
});
