/** What an operator opens and blocks (R2). */
import test from 'ava';
import { resolverBy, systemResolver } from '../../../../../transport/net/outbound-guard/resolution.ts';
import { createVet } from '../../../../../transport/net/outbound-guard/vetting.ts';
import { startDnsServer } from '../../../../support/net/dns-server.ts';
import { GOOD, guardWith } from './guard-fixture.ts';

test('private networks, opened by the operator, are reached by name and address; metadata services by neither', async (t) => {
  const guard = await guardWith(
    t,
    ({ name }) => ({ addresses: [name === 'trap.example.com' ? '169.254.169.254' : '192.168.7.7'] }),
    true,
  );
  const urls = [
    'http://10.0.0.1/',
    'http://[fd12::1]/',
    'http://100.64.0.1/',
    'http://127.0.0.1:3000/',
    'http://hooks.internal/',
    'http://hooks/',
    'http://trap.example.com/',
    'http://metadata.google.internal/',
    'http://100.100.100.200/',
    'http://[::ffff:10.0.0.1]/',
    'http://0.0.0.0/',
  ];

  t.deepEqual(await Promise.all(urls.map(async (url) => (await guard.check(url)).ok)), [
    true,
    true,
    true,
    true,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test('what the operator blocks is refused by name before a question leaves, and by every address that a name has', async (t) => {
  const { server, questions } = await startDnsServer(t, ({ name }) => ({
    addresses: name === 'alias.example.com' ? [GOOD, '10.0.0.9'] : [GOOD],
  }));
  const rulingOn = (host: string) =>
    ['bad.example.com', '10.0.0.9'].includes(host) ? ('blocked' as const) : undefined;
  const vet = createVet({ allowPrivate: true, rulingOn, resolve: resolverBy([server]) });

  const vetted = await Promise.all(
    ['Bad.Example.com.', 'alias.example.com', '10.0.0.9', '10.0.0.8', 'good.example.com'].map((host) => vet(host)),
  );

  t.deepEqual(
    vetted.map((one) => (one.ok ? 'ok' : one.reason)),
    [
      'bad.example.com is blocked by the operator of this machine.',
      'alias.example.com resolves to an address that is blocked by the operator of this machine.',
      '10.0.0.9 is blocked by the operator of this machine.',
      'ok',
      'ok',
    ],
  );
  t.deepEqual([...new Set(questions)].toSorted(), [
    'A alias.example.com',
    'A good.example.com',
    'AAAA alias.example.com',
    'AAAA good.example.com',
  ]);
});

test('a name that the operator opens leads to this machine, but never to a metadata service', async (t) => {
  const { server } = await startDnsServer(t, ({ name }) => ({
    addresses: [name === 'self.internal' ? '127.0.0.1' : '169.254.169.254'],
  }));
  const vet = createVet({
    allowPrivate: false,
    rulingOn: (host) => (host.endsWith('.internal') ? 'opened' : undefined),
    resolve: resolverBy([server]),
  });

  const vetted = await Promise.all(
    ['self.internal', 'metadata.google.internal', 'self.example.com'].map(async (host) => (await vet(host)).ok),
  );

  t.deepEqual(vetted, [true, false, false]);
});

test('where private networks are open and this machine is not, the sentence says so', async (t) => {
  const vet = createVet({
    allowPrivate: true,
    allowLoopback: false,
    resolve: systemResolver({ servers: ['127.0.0.1:1'] }),
  });

  const vetted = await Promise.all(['127.0.0.1', 'localhost'].map((host) => vet(host)));

  t.deepEqual(
    vetted.map((one) => !one.ok && one.reason),
    [
      '127.0.0.1 is this machine itself, which is not reached this way.',
      'localhost resolves to a loopback or reserved address, which must not be reached.',
    ],
  );
});
