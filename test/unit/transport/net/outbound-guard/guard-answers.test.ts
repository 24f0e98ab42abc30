/** What DNS may do to a URL: real queries to a real server (R2). */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { createGuard } from '../../../../../transport/net/outbound-guard/guard.ts';
import { ANSWERS_MAX } from '../../../../../transport/net/outbound-guard/limits.ts';
import { resolverBy, systemResolver } from '../../../../../transport/net/outbound-guard/resolution.ts';
import { startDnsServer } from '../../../../support/net/dns-server.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { GOOD, GOOD_6, guardWith, said } from './guard-fixture.ts';

const BAD = [
  '127.0.0.1',
  '10.0.0.1',
  '169.254.169.254',
  '0.0.0.0',
  '::1',
  'fe80::1',
  'fd00::1',
  '::ffff:10.0.0.1',
  '64:ff9b::a00:1',
];

for (const bad of BAD) {
  test(`one answer ${bad} among good ones refuses the name, wherever it stands`, async (t) => {
    const orders = [
      [bad, GOOD, GOOD_6],
      [GOOD, bad, GOOD_6],
      [GOOD, GOOD_6, bad],
    ];
    const guard = await guardWith(t, ({ name }) => ({ addresses: orders[Number(name[1])] ?? [] }));

    t.deepEqual(
      await Promise.all(orders.map(async (_order, index) => (await guard.check(`http://n${index}.example.com/`)).ok)),
      [false, false, false],
    );
  });
}

test('what is at the end of a chain of aliases counts', async (t) => {
  const aliases = ['one.example.net', 'two.example.net', 'three.example.net'];
  const guard = await guardWith(t, ({ name }) => ({
    aliases,
    addresses: [name === 'good.example.com' ? GOOD : '172.16.0.9'],
  }));

  t.deepEqual(
    [(await guard.check('http://good.example.com/')).ok, (await guard.check('http://bad.example.com/')).ok],
    [true, false],
  );
});

test('a name without addresses, with none at all, and with a broken server do not resolve', async (t) => {
  const guard = await guardWith(t, ({ name }) =>
    name.startsWith('empty') ? { addresses: [] } : name.startsWith('broken') ? 'failure' : 'no-such-name',
  );
  const vetted = await Promise.all(
    ['empty.example.com', 'nowhere.example.com', 'broken.example.com'].map((name) => guard.vet(name)),
  );

  t.deepEqual(
    vetted.map((one) => !one.ok && one.kind),
    ['unresolved', 'unresolved', 'unresolved'],
  );
});

test('a family that fails is left out, and the other is still checked', async (t) => {
  const guard = await guardWith(t, ({ name, type }) =>
    type === 'AAAA' ? 'failure' : { addresses: [name === 'good.example.com' ? GOOD : '10.0.0.1'] },
  );

  t.deepEqual(await guard.vet('Good.Example.COM'), { ok: true, addresses: [{ address: GOOD, family: 4 }] });
  t.false((await guard.vet('bad.example.com')).ok);
});

test('a silent DNS server is waited for no longer than the limit', async (t) => {
  const { server } = await startDnsServer(t, () => 'silence');
  const guard = createGuard({ allowPrivate: false, resolve: resolverBy([server]), resolveMsMax: 300 });

  t.is(said(await guard.check('http://silent.example.com/')), 'silent.example.com was not resolved within 300 ms.');
});

test('names whose DNS servers are silent keep no other name waiting', async (t) => {
  const guard = await guardWith(t, ({ name }) => (name === 'silent.example.com' ? 'silence' : { addresses: [GOOD] }));
  const silent = Array.from({ length: 40 }, () => guard.check('http://silent.example.com/'));

  t.is(said(await Promise.race([...silent, guard.check('http://quick.example.com/')])), 'http://quick.example.com/');
});

test('a resolver that never answers and ignores its signal is given up', async (t) => {
  const guard = createGuard({ allowPrivate: false, resolve: () => new Promise(() => {}), resolveMsMax: 20 });
  const awake = setInterval(() => {}, 1_000);
  t.teardown(() => {
    clearInterval(awake);
  });

  t.is(said(await guard.check('http://example.com/')), 'example.com was not resolved within 20 ms.');
});

test('a name with a crowd of addresses is refused', async (t) => {
  const guard = createGuard({
    allowPrivate: false,
    resolve: (name) =>
      Promise.resolve(
        Array.from({ length: Number(name.split('.')[0]?.slice(1)) }, (_unused, index) => `93.184.215.${index}`),
      ),
  });

  t.deepEqual(
    [(await guard.vet(`n${ANSWERS_MAX}.example.com`)).ok, (await guard.vet(`n${ANSWERS_MAX + 1}.example.com`)).ok],
    [true, false],
  );
});

test('localhost is this machine, whoever is asked', async (t) => {
  const resolve = systemResolver({ servers: ['127.0.0.1:1'] });

  t.deepEqual(
    await Promise.all(['localhost', 'a.localhost.'].map((name) => resolve(name, AbortSignal.timeout(1_000)))),
    [
      ['127.0.0.1', '::1'],
      ['127.0.0.1', '::1'],
    ],
  );
});

test('what the hosts file names is not asked for, and is checked like any answer', async (t) => {
  const directory = temporaryDirectory(t);
  const hostsFile = join(directory, 'hosts');
  await writeFile(
    hostsFile,
    `# names\n${GOOD}\tgood.example.com Also.Example.com # here\n${GOOD_6} good.example.com\n\n10.0.0.1 bad.example.com\n#${GOOD} off.example.com\n`,
  );
  const { server, questions } = await startDnsServer(t, () => 'no-such-name');
  const guard = createGuard({ allowPrivate: false, resolve: systemResolver({ hostsFile, servers: [server] }) });

  const vetted = await Promise.all(
    ['good.example.com', 'also.example.com.', 'bad.example.com', 'off.example.com'].map((name) => guard.vet(name)),
  );

  t.deepEqual(
    vetted.map((one) => (one.ok ? one.addresses.map((entry) => entry.address) : one.kind)),
    [[GOOD, GOOD_6], [GOOD], 'refused', 'unresolved'],
  );
  t.deepEqual([...new Set(questions)].toSorted(), ['A off.example.com', 'AAAA off.example.com']);
});

test('a machine without a hosts file asks its DNS servers', async (t) => {
  const { server } = await startDnsServer(t, () => ({ addresses: [GOOD] }));

  t.deepEqual(
    await systemResolver({ hostsFile: '/nowhere/hosts', servers: [server] })(
      'example.com',
      AbortSignal.timeout(60_000),
    ),
    [GOOD],
  );
});
