/** `edge` against services that are not the one it signed in to: where a key goes. */
import test from 'ava';
import { storeConnection } from '../../../cli/service/contexts.ts';
import { startEdge } from '../../support/edge-program.ts';
import { until } from '../../support/until.ts';

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

test('a context that is named by an option is the one that is asked, whatever the variables say', async (t) => {
  const [own, other, third] = await Promise.all([service(t), service(t), service(t)]);
  const env = home(t, { url: own.url, key: KEY });
  storeConnection({ url: other.url, key: 'key-of-the-other' }, { ...env, EDGE_CONTEXT: 'other' });
  const variables = { EDGE_URL: third.url, EDGE_API_KEY: 'key-of-the-third', EDGE_PROXY_URL: third.url };

  const asked = await edge({ ...env, ...variables }, '--context', 'default', 'node', 'ls');
  const keyOnly = await edge({ ...env, EDGE_API_KEY: 'key-of-the-third' }, '--context', 'default', 'node', 'ls');
  const proxy = await edge({ ...env, ...variables, EDGE_PROXY_KEY: 'x' }, '--context', 'other', 'proxy-url');
  const login = await edge({ ...env, ...variables }, '--context', 'third', 'login');

  t.deepEqual([asked.status, keyOnly.status, login.status], [0, 0, 0], asked.stderr + keyOnly.stderr + login.stderr);
  t.true(own.heard.every(({ authorization }) => authorization === `Bearer ${KEY}`));
  t.is(proxy.stdout, 'http://_:key-of-the-other@127.0.0.1:43128\n', proxy.stderr);
  t.deepEqual(
    third.heard.map(({ authorization }) => authorization),
    ['Bearer key-of-the-third'],
  );
});

test('names are completed from the service that was named so far', async (t) => {
  const list_clusters = (name: string) => ({ list_clusters: { data: [{ name }], pagination: { total_count: 1 } } });
  const [own, other] = await Promise.all([service(t, list_clusters('own')), service(t, list_clusters('other'))]);
  const env = { ...home(t, { url: own.url, key: KEY }), EDGE_URL: own.url, EDGE_API_KEY: KEY };
  storeConnection({ url: other.url, key: 'key-of-the-other' }, { ...env, EDGE_CONTEXT: 'test' });
  // on a busy machine they may come later than anybody waits for them at a prompt
  const next = (...words: string[]) =>
    until('names', async () => (await edge(env, '__complete', ...words)).stdout.trim().split('\n').filter(Boolean)[0]);

  t.is(await next('cluster', 'get', '--context', ''), 'test');
  t.is(await next('run', '-c', ''), 'own');
  t.is(await next('--context', 'test', 'run', '-c', ''), 'other');
  t.is(await next(`--url=${other.url}`, '--key', 'given', 'run', '-c', ''), 'other');
  t.deepEqual(
    [...new Set(other.heard.map(({ authorization }) => authorization))],
    ['Bearer key-of-the-other', 'Bearer given'],
  );
});

test('what ssh is told names the service that was named, and what is forgotten is that one', async (t) => {
  const { url } = await service(t, { list_clusters: { data: [{ name: 'prod', vpn_domain: 'prod.edge.internal' }] } });
  const env = home(t, { url, key: KEY });
  const test = { ...env, EDGE_CONTEXT: 'test' };
  storeConnection({ url, key: KEY }, test);
  storeConnection({ url, key: KEY }, { ...env, EDGE_CONTEXT: 'default' });
  const command = async (...given: Parameters<typeof edge>) =>
    /^ {2}ProxyCommand .* connect (?<words>.*)$/mu.exec((await edge(...given)).stdout)?.groups?.['words'];

  t.is(await command(test, 'ssh-config'), '--context test --ssh %h %p');
  t.is(await command({ ...env, EDGE_URL: url }, '--context', 'test', 'ssh-config'), '--context test --ssh %h %p');
  t.is(await command(env, 'ssh-config'), '--ssh %h %p');
  t.is((await edge(test, 'logout')).stderr, 'edge: test is forgotten; default is used from now on\n');
});

test('the SOCKS5 proxy is where the service says, also beside a proxy that was named, and is never guessed', async (t) => {
  const { url } = await service(t, { get_admin: { ...ADMIN, proxies: { http_port: 1, socks5_port: 4_711 } } });
  const old = await service(t, { get_admin: { ...ADMIN, proxies: undefined } });
  const socks5 = (env: Record<string, string>) =>
    edge({ ...home(t), EDGE_API_KEY: KEY, ...env }, 'proxy-url', '--socks5');

  t.is((await socks5({ EDGE_URL: url })).stdout, `socks5h://_:${KEY}@127.0.0.1:4711\n`);
  t.is(
    (await socks5({ EDGE_URL: url, EDGE_PROXY_URL: 'http://127.0.0.1:9' })).stdout,
    `socks5h://_:${KEY}@127.0.0.1:4711\n`,
  );
  for (const [service_, proxy] of [
    [url, 'http://proxy.example:43128'],
    [url, 'https://127.0.0.1'],
    [old.url, 'http://127.0.0.1:9'],
  ] as const) {
    const ended = await socks5({ EDGE_URL: service_, EDGE_PROXY_URL: proxy });
    t.deepEqual([ended.status, ended.stdout], [1, ''], proxy);
    t.is(
      ended.stderr,
      `edge: nobody says where the SOCKS5 proxy beside ${proxy} is: set EDGE_SOCKS5_URL, such as socks5://HOST:41080\n`,
    );
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
