import test from 'ava';
import * as fc from 'fast-check';
import { readGreeting, readLogin, readRequest } from '../../../../transport/proxies/socks5-wire.ts';
import { GREETING_PASSWORD, login, request } from './socks5-client.ts';

test('an IPv6 address is written as RFC 5952 says', (t) => {
  const group = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 0xffff }));
  fc.assert(
    fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
      const read = readRequest(
        request(
          groups.flatMap((value) => [value >> 8, value & 255]),
          443,
        ),
      );

      return (
        `[${read?.message.host}]` ===
        new URL(`http://[${groups.map((value) => value.toString(16)).join(':')}]`).hostname
      );
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});

test('an IPv4 address is written with dots', (t) => {
  t.deepEqual(readRequest(request([192, 0, 2, 255], 65_535))?.message, {
    command: 1,
    isKindKnown: true,
    host: '192.0.2.255',
    port: 65_535,
  });
});

test('names are read in lower case, and addresses that come as names are addresses', (t) => {
  const hosts = [
    'Web-1.PROD.edge',
    'web_2',
    'xn--bcher-kva.example.',
    '10.0.0.1',
    '::1',
    '[2001:DB8::1]',
    'a'.repeat(255),
  ].map((name) => readRequest(request(name, 80))?.message.host);

  t.deepEqual(hosts, [
    'web-1.prod.edge',
    'web_2',
    'xn--bcher-kva.example.',
    '10.0.0.1',
    '::1',
    '2001:db8::1',
    'a'.repeat(255),
  ]);
});

test('names that could be taken for something else are none', (t) => {
  const hosts = [
    '',
    ' ',
    'a b',
    'a\r\nb',
    'a\0',
    'a/b',
    'user@host',
    'host:80',
    'b\u00fccher',
    'fe80::1%eth0',
    '[::1',
    '%31',
    'a\\b',
    'a#b',
    'a?b',
    '[web-1]',
  ].map((name) => readRequest(request(name, 80))?.message.host);

  t.deepEqual(
    hosts,
    hosts.map(() => null),
  );
});

test('port 0 is no target', (t) => {
  t.is(readRequest(request('web-1', 0))?.message.host, null);
});

test('an address of an unknown kind has no length, so all that came is the request', (t) => {
  t.deepEqual(readRequest(Buffer.from([5, 1, 0, 9, 1, 2, 3])), {
    message: { command: 1, isKindKnown: false, host: null, port: 0 },
    bytes: 7,
  });
});

test('a login may have anything in it, and nothing', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      (username, password) => {
        fc.pre(Buffer.byteLength(username) < 256 && Buffer.byteLength(password) < 256);
        const bytes = login(username, password);
        t.deepEqual(readLogin(bytes), {
          message: { username: Buffer.from(username).toString(), password: Buffer.from(password).toString() },
          bytes: bytes.length,
        });
      },
    ),
  );
});

test('a message that is not all there is not read, and what follows it is not looked at', (t) => {
  const messages = [
    [readGreeting, GREETING_PASSWORD],
    [readLogin, login('_', 'secret')],
    [readRequest, request('web-1.prod.edge', 22)],
    [readRequest, request([10, 0, 0, 1], 22)],
    [
      readRequest,
      request(
        Array.from({ length: 16 }, () => 1),
        22,
      ),
    ],
  ] as const;
  for (const [read, whole] of messages) {
    for (let length = 0; length < whole.length; length += 1) t.is(read(whole.subarray(0, length)), null);
    t.is(read(Buffer.concat([whole, Buffer.from('GET /')]))?.bytes, whole.length);
  }
});

test('no bytes break the readers', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      for (const read of [readGreeting, readLogin, readRequest]) {
        const got = read(Buffer.from(bytes));
        if (got !== null && got.bytes > bytes.length) return false;
      }
      return true;
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});
