/** `edge` against services that are not the one it signed in to: where a key goes. */
import test from 'ava';
import { startEdge } from '../../support/edge-program.ts';

import { ADMIN, edge, home, service } from './foreign-service.ts';

const KEY = 'remembered-key-CANARY-1234';

test('a remembered key goes to its own service, however that is written, and to no other', async (t) => {
  const [own, other] = await Promise.all([service(t), service(t)]);
  const env = home(t, { url: own.url, key: KEY });

  const right = [await edge(env, 'node', 'ls'), await edge({ ...env, EDGE_URL: `${own.url}/` }, 'node', 'ls')];
  const wrong = [
    await edge(env, '--url', other.url, 'node', 'ls'),
    await edge({ ...env, EDGE_URL: other.url }, 'node', 'ls'),
  ];

  t.deepEqual(
    right.map(({ status }) => status),
    [0, 0],
  );
  t.true(own.heard.every(({ authorization }) => authorization === `Bearer ${KEY}`));
  for (const ended of wrong) {
    t.deepEqual([ended.status, ended.stdout], [3, '']);
    t.is(
      ended.stderr,
      `edge: the key that edge login remembers is that of ${own.url} and is not sent to ${other.url}: edge login --url ${other.url} signs in there, and EDGE_API_KEY or --key gives a key for now\n`,
    );
  }
  t.deepEqual(other.heard, []);
});

test('what a service says of the ports of its proxies leads to no other host, and no key is sent by a guess', async (t) => {
  for (const proxies of [
    { http_port: '80@127.0.0.2', socks5_port: 1 },
    { http_port: 0, socks5_port: 1 },
    { http_port: 1e9, socks5_port: 1 },
    null,
    undefined,
  ]) {
    const { url } = await service(t, { get_admin: { ...ADMIN, proxies } });
    const ended = await edge({ ...home(t), EDGE_URL: url, EDGE_API_KEY: KEY }, 'proxy-url');
    t.deepEqual([ended.status, ended.stdout], [1, ''], String(proxies?.http_port));
    t.regex(
      ended.stderr,
      /^edge: (?:the service says|http:\S+ has no proxy|http:\S+ does not say where its proxy is)[^\n]+\n$/u,
    );
    t.false(ended.stderr.includes(KEY));
  }
});

test('another service can be signed in to, and asked with a key that is given', async (t) => {
  const [own, other] = await Promise.all([service(t), service(t, { get_admin: { name: 'other', version: '1' } })]);
  const env = home(t, { url: own.url, key: KEY });

  const asked = await edge(env, '--url', other.url, '--key', 'given-key-of-the-other', 'node', 'ls');
  const login = await startEdge(['login', '--url', other.url], env, 'given-key-of-the-other\n').ended;

  t.deepEqual([asked.status, login.status], [0, 0], `${asked.stderr}${login.stderr}`);
  t.true(other.heard.every(({ authorization }) => authorization === 'Bearer given-key-of-the-other'));
});

test('a remembered key goes to the proxy of its service and to no other', async (t) => {
  const [own, other] = await Promise.all([service(t), service(t)]);
  const hostName = 'web-1.prod.edge.internal';
  const elsewhere = other.url.replace('127.0.0.1', 'localhost');

  for (const stored of [
    { url: own.url, key: KEY },
    { url: own.url, key: KEY, proxyUrl: own.url, proxyKey: KEY },
  ]) {
    const ended = await edge({ ...home(t, stored), EDGE_PROXY_URL: elsewhere }, 'connect', hostName, '22');
    t.is(ended.status, 3);
    t.regex(
      ended.stderr,
      /^edge: the key that edge login remembers is not sent to http:\/\/localhost:\d+, which is not the proxy of .*: set EDGE_PROXY_KEY, or run edge login --proxy-url .*\n$/u,
    );
  }
  t.deepEqual(other.heard, []);
  await edge(home(t, { url: own.url, key: KEY, proxyUrl: elsewhere }), 'connect', hostName, '22');
  const given = { EDGE_PROXY_URL: elsewhere, EDGE_PROXY_KEY: 'given' };
  await edge({ ...home(t, { url: own.url, key: KEY }), ...given }, 'connect', hostName, '22');

  const shown = other.heard.map((headers) =>
    Buffer.from(String(headers['proxy-authorization']).slice('Basic '.length), 'base64').toString(),
  );
  t.deepEqual(shown, [`_:${KEY}`, '_:given']);
});

test('the password of a URL is never repeated', async (t) => {
  const urls = [
    'http://me:CANARY@127.0.0.1:9',
    'https://CANARY@127.0.0.1:9/',
    'ftp://me:CANARY@127.0.0.1',
    'http://me:CANARY@',
    'me:CANARY@127.0.0.1',
  ];

  const key = { EDGE_API_KEY: 'a-key-that-is-given' };
  for (const ended of await Promise.all([
    ...urls.map((url) => edge(key, '--url', url, 'node', 'ls')),
    edge({ ...key, EDGE_URL: urls[0] ?? '' }, 'connect', 'a.b.c', '1'),
  ])) {
    t.is(ended.status, 2, ended.stderr);
    t.regex(ended.stderr, /^edge: [^\n]+\n$/u);
    t.false(ended.stderr.includes('CANARY'), ended.stderr);
  }
});
