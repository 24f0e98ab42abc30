/** Whose a request is behind proxies that are trusted, and behind those that are not. */
import type { IncomingMessage } from 'node:http';
import test from 'ava';
import {
  cameByTls,
  clientAddressOf,
  noteClient,
  PROXIES_MAX,
  TrustedProxies,
} from '../../../../transport/net/client-address.ts';

const PROXIES = new TrustedProxies(['10.0.0.5', '10.1.0.0/16', '2001:db8:1::/48']);

test('without proxies the header of nobody is believed', (t) => {
  t.is(new TrustedProxies([]).clientOf('192.0.2.1', '203.0.113.9'), '192.0.2.1');
  t.is(new TrustedProxies([]).clientOf('::ffff:192.0.2.1', undefined), '192.0.2.1');
});

test('of a trusted proxy the header is believed, of another machine it is not', (t) => {
  const cases = [
    ['10.0.0.5', '203.0.113.9', '203.0.113.9'],
    ['::ffff:10.0.0.5', '203.0.113.9', '203.0.113.9'],
    ['2001:db8:1::7', '2001:db8:2::9', '2001:db8:2::9'],
    ['10.0.0.6', '203.0.113.9', '10.0.0.6'],
    ['10.0.0.5', undefined, '10.0.0.5'],
    ['unknown', '203.0.113.9', 'unknown'],
  ] as const;

  for (const [peer, forwarded, client] of cases) t.is(PROXIES.clientOf(peer, forwarded), client, peer);
});

test('what the client wrote itself stands left of what the proxies add, and means nothing', (t) => {
  const cases = [
    ['1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['10.0.0.5, 203.0.113.9', '203.0.113.9'],
    ['127.0.0.1,10.1.2.3,203.0.113.9,10.1.0.1', '203.0.113.9'],
    ['10.1.0.2, 10.1.0.1', '10.1.0.2'],
  ] as const;

  for (const [forwarded, client] of cases) t.is(PROXIES.clientOf('10.0.0.5', forwarded), client, forwarded);
});

test('an entry that is no address is not looked through: whoever wrote it is the client', (t) => {
  for (const entry of ['unknown', '', ' ', '_hidden', '203.0.113.9.9', 'fe80::1%eth0', '"203.0.113.9"'])
    t.is(PROXIES.clientOf('10.0.0.5', `1.1.1.1, ${entry}`), '10.0.0.5', entry);
  t.is(PROXIES.clientOf('10.0.0.5', `1.1.1.1, bad, 10.1.0.1`), '10.1.0.1');
});

test('an entry may have a port, in brackets where it is IPv6', (t) => {
  t.is(PROXIES.clientOf('10.0.0.5', '203.0.113.9:5123'), '203.0.113.9');
  t.is(PROXIES.clientOf('10.0.0.5', '[2001:db8:2::9]:5123'), '2001:db8:2::9');
  t.is(PROXIES.clientOf('10.0.0.5', '::ffff:203.0.113.9'), '203.0.113.9');
});

test('no more proxies in a row are looked past than anybody has', (t) => {
  const row = (length: number): string => ['203.0.113.9', ...Array.from({ length }, () => '10.1.0.1')].join(', ');

  t.is(PROXIES.clientOf('10.0.0.5', row(PROXIES_MAX - 1)), '203.0.113.9');
  t.is(PROXIES.clientOf('10.0.0.5', row(PROXIES_MAX)), '10.1.0.1');
});

test('whose a request is stays what was noted; of one that nobody noted it is the other end', (t) => {
  const request = { socket: { remoteAddress: '10.0.0.5' }, headers: { 'x-forwarded-for': '203.0.113.9' } };

  t.is(clientAddressOf(request), '10.0.0.5');
  noteClient(request, PROXIES);
  t.is(clientAddressOf(request), '203.0.113.9');
  t.is(clientAddressOf({ socket: {} }), 'unknown');
});

test('a request came by TLS where its own connection has it, or the proxy next to its client had', (t) => {
  const came = (socket: object, forwarded?: string): boolean =>
    cameByTls({
      socket,
      headers: { ...(forwarded !== undefined && { 'x-forwarded-proto': forwarded }) },
    } as IncomingMessage);

  t.deepEqual(
    [
      came({ encrypted: true }),
      came({}, 'https'),
      came({}, 'https, http'),
      came({}),
      came({}, 'http'),
      came({}, 'http, https'),
    ],
    [true, true, true, false, false, false],
  );
});
