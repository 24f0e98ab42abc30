/** What is said to somebody who gives a URL, and which hosts are not even asked for (R2). */
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import test from 'ava';
import * as fc from 'fast-check';
import { isPublicAddress } from '../../../../../transport/net/outbound-guard/policy.ts';
import { BAD_PORTS } from '../../../../../transport/net/outbound-guard/destination.ts';
import { createGuard } from '../../../../../transport/net/outbound-guard/guard.ts';
import { URL_CHARS_MAX } from '../../../../../transport/net/outbound-guard/limits.ts';
import { GOOD, GOOD_6, guardWith, said } from './guard-fixture.ts';

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
