/** What is said to somebody who gives a URL, and what DNS may do to it: real queries to a real server (R2). */
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { isPublicAddress } from '../../../../../transport/net/guard/policy.ts';
import { BAD_PORTS } from '../../../../../transport/net/guard/destination.ts';
import { createGuard, type Guard, type GuardVerdict } from '../../../../../transport/net/guard/guard.ts';
import { ANSWERS_MAX, URL_CHARS_MAX } from '../../../../../transport/net/guard/limits.ts';
import { resolverBy, systemResolver } from '../../../../../transport/net/guard/resolution.ts';
import { createVet } from '../../../../../transport/net/guard/vetting.ts';
import { startDnsServer, type Answer, type Question } from '../../../../support/dns-server.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const GOOD = '93.184.215.14';
const GOOD_6 = '2606:4700:4700::1111';

async function guardWith(
  t: ExecutionContext,
  answer: (question: Question) => Answer | Promise<Answer>,
  allowPrivate = false,
): Promise<Guard & { questions: string[] }> {
  const { server, questions } = await startDnsServer(t, answer);
  return { ...createGuard({ allowPrivate, resolve: resolverBy([server]) }), questions };
}

function said(verdict: GuardVerdict): string {
  return verdict.ok ? verdict.url.href : verdict.reason;
}

test('a URL with a public address passes as it will be requested', async (t) => {
  const guard = await guardWith(t, () => ({ addresses: [GOOD, GOOD_6] }));
  const urls = [
    'https://hooks.example.com/a?b=c',
    'HTTP://Hooks.Example.COM:8080',
    'https://hooks.example.com./',
    'http://8.8.8.8/x',
    'http://[2606:4700:4700::1111]:8443/',
    'https://bücher.example/',
    'https://hooks.example.com:443/%20',
  ];

  t.deepEqual(await Promise.all(urls.map(async (url) => said(await guard.check(url)))), [
    'https://hooks.example.com/a?b=c',
    'http://hooks.example.com:8080/',
    'https://hooks.example.com./',
    'http://8.8.8.8/x',
    'http://[2606:4700:4700::1111]:8443/',
    'https://xn--bcher-kva.example/',
    'https://hooks.example.com/%20',
  ]);
});

test('a refusal says in one sentence what is wrong, and names no address that they did not write', async (t) => {
  const guard = await guardWith(t, ({ name }) =>
    name === 'inside.example.com' ? { addresses: ['10.11.12.13'] } : 'no-such-name',
  );
  const reasons: Record<string, string> = {
    'ftp://example.com/': 'The URL must begin with http:// or https:// and a host.',
    'http:example.com': 'The URL must begin with http:// or https:// and a host.',
    'https://user:secret@example.com/': 'The URL must not hold a user name or password: use a header.',
    'https://example.com/#x': 'The URL must not have a fragment (#…): it would not be sent.',
    'https://example.com/a b': 'The URL has a space, a control character or a backslash in it.',
    'https://example.com:70000/': 'The URL is not valid: look at its host and port.',
    'https://example.com:25/': 'Port 25 belongs to another protocol than HTTP.',
    [`https://example.com/${'x'.repeat(URL_CHARS_MAX)}`]: 'The URL is longer than 2048 characters.',
    'http://0x7f.1/':
      'The host is an address in a form that programs read in different ways: write 127.0.0.1, if that is meant.',
    'http://127.0.0.1/': '127.0.0.1 is a private address, which must not be reached.',
    'http://[::ffff:8.8.8.8]/': '::ffff:808:808 is a metadata, reserved or translated address, which is never reached.',
    'http://inside.example.com/':
      'inside.example.com resolves to a private or reserved address, which must not be reached.',
    'http://nowhere.example.com/': 'nowhere.example.com does not resolve.',
    'http://metadata.google.internal/': 'metadata.google.internal is a metadata service, which must not be reached.',
    'http://app.localhost/': 'app.localhost is a name of a private network, which must not be reached.',
    'http://a..b/': 'The host is not a valid name.',
  };

  const answers = await Promise.all(Object.keys(reasons).map(async (url) => [url, said(await guard.check(url))]));

  t.deepEqual(Object.fromEntries(answers), reasons);
});

test('a URL of exactly the longest length passes', async (t) => {
  const guard = await guardWith(t, () => ({ addresses: [GOOD] }));
  const url = `https://example.com/${'x'.repeat(URL_CHARS_MAX - 'https://example.com/'.length)}`;

  t.deepEqual([(await guard.check(url)).ok, (await guard.check(`${url}x`)).ok], [true, false]);
});

test('the ports are those that browsers refuse, and 0', (t) => {
  const { badPorts } = createRequire(import.meta.url)('undici/lib/web/fetch/constants.js') as { badPorts: string[] };

  t.deepEqual([...BAD_PORTS], [0, ...badPorts.map(Number)]);
});

test('names that mean this machine or its network are not even asked for', async (t) => {
  const guard = await guardWith(t, () => ({ addresses: [GOOD] }));
  const names = [
    'localhost',
    'x.localhost',
    'printer.local',
    'vault.internal',
    'metadata.google.internal',
    'nas.home.arpa',
    'metadata',
  ];

  const verdicts = await Promise.all(names.map(async (name) => (await guard.check(`http://${name}/`)).ok));

  t.deepEqual({ verdicts, questions: guard.questions }, { verdicts: names.map(() => false), questions: [] });
});

test('a host that some parser would take for an address, or that is none, is not asked for either', async (t) => {
  const guard = await guardWith(t, () => ({ addresses: [GOOD] }));
  const hosts = [
    '0x7f.1',
    '127.1',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.1.',
    '127.0.0.1..',
    '[::1]',
    '::1%lo',
    '[fe80::1%25eth0]',
    'LOCALHOST',
    'Metadata.Google.Internal.',
    '',
    '.',
    'a b',
    'a/b',
    '-a',
    `${'a'.repeat(64)}.example`,
    'a.'.repeat(128),
  ];

  const vetted = await Promise.all(hosts.map(async (host) => (await guard.vet(host)).ok));

  t.deepEqual({ vetted, questions: guard.questions }, { vetted: hosts.map(() => false), questions: [] });
});

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
    await systemResolver({ hostsFile: '/nowhere/hosts', servers: [server] })('example.com', AbortSignal.timeout(5_000)),
    [GOOD],
  );
});

test('no text makes the check throw, and what passes has a host that is public or a name', async (t) => {
  const guard = createGuard({ allowPrivate: false, resolve: () => Promise.resolve([GOOD]) });
  const piece = fc.oneof(
    fc.constantFrom(
      'http://',
      'https://',
      '@',
      ':',
      '/',
      '\\',
      '[',
      ']',
      '#',
      '?',
      '.',
      '%',
      '127.0.0.1',
      '::1',
      'localhost',
      'a.example',
      '80',
      ' ',
    ),
    fc.string(),
    fc.webUrl(),
  );

  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
      async (text) => {
        const verdict = await guard.check(text);
        if (!verdict.ok) return true;
        const { protocol, username, hostname } = verdict.url;
        const host = hostname.replaceAll(/[[\]]/gu, '');
        return (
          /^https?:$/u.test(protocol) &&
          username === '' &&
          (isIP(host) === 0 ? !/(?:^|\.)localhost\.?$/u.test(host) : isPublicAddress(host))
        );
      },
    ),
    { numRuns: 3_000 },
  );
  t.pass();
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
