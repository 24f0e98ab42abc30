/** `edge` against services that are not the one it signed in to, or say what no honest one says. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { storeConnection } from '../../../cli/contexts.ts';
import { Problem } from '../../../cli/problem.ts';
import { checkedHostName } from '../../../cli/reach/host-names.ts';
import { startEdge, type Ended } from '../../support/edge-program.ts';
import { listening } from '../../support/listening.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const KEY = 'remembered-key-CANARY-1234';
const NODE = '01900000-0000-7000-8000-000000000001';

interface Service {
  readonly url: string;
  /** Headers of every request, in order. */
  readonly heard: IncomingHttpHeaders[];
}

/** What an honest admin says of itself, and of a list without rows. */
const ADMIN = { name: 'own', version: '1', proxies: { http_port: 43_128, socks5_port: 41_080 } };
const NOTHING = { total_count: 0, has_next: false };

/** A service that answers each operation with what is given, as tRPC does. */
async function service(t: ExecutionContext, answers: Readonly<Record<string, unknown>> = {}): Promise<Service> {
  const heard: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    const operation = /^\/api\/trpc\/(?<name>\w+)/u.exec(request.url ?? '')?.groups?.['name'] ?? '';
    const data = { get_admin: ADMIN, ...answers }[operation] ?? { data: [], pagination: NOTHING };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ result: { data } }));
  }).on('connect', (request, socket) => {
    heard.push(request.headers);
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  });
  return { url: `http://127.0.0.1:${await listening(t, server)}`, heard };
}

/** A person's directory, with what `edge login` remembered there. */
function home(
  t: ExecutionContext,
  stored: Parameters<typeof storeConnection>[0] | null = null,
): Record<string, string> {
  const directory = temporaryDirectory(t);
  const env = { XDG_CONFIG_HOME: directory };
  if (stored !== null) storeConnection(stored, env);
  return env;
}

/** A person who gives a key, and remembers none. */
const stranger = (t: ExecutionContext, url: string): Record<string, string> => ({
  ...home(t),
  EDGE_URL: url,
  EDGE_API_KEY: 'a-key-that-is-given',
});

const edge = (env: Record<string, string>, ...args: string[]): Promise<Ended> => startEdge(args, env).ended;

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

const HOSTILE_NAMES = [
  'x\n  ProxyCommand touch HACKED',
  'x\r\nMatch exec "touch HACKED"',
  '*',
  'a b',
  '',
  '-x.y',
  'a"b',
  '$(touch HACKED)',
  '`id`',
  'a;b',
  '%h',
  'x'.repeat(300),
  5,
  null,
];

test('a host name is one, and holds no line and no command', (t) => {
  for (const name of HOSTILE_NAMES)
    t.throws(
      () => checkedHostName(name),
      { instanceOf: Problem, message: /^the service says .+, which is no host name: nothing was written or started$/u },
      String(name),
    );
  for (const name of ['edge.internal', 'node-1.prod.edge.internal', 'a', '1.2']) t.is(checkedHostName(name), name);
});

test('nothing that a service says becomes a line or a command of ssh', async (t) => {
  for (const domain of HOSTILE_NAMES.slice(0, 2)) {
    const cluster = { name: 'prod', vpn_domain: domain };
    const { url } = await service(t, {
      get_cluster: cluster,
      list_clusters: {
        data: [{ ...cluster, vpn_domain: typeof domain === 'string' ? `prod.${domain}` : domain }],
        pagination: { total_count: 1 },
      },
    });
    const env = stranger(t, url);
    const file = join(env['XDG_CONFIG_HOME'] ?? '', 'config');

    for (const words of [
      ['ssh-config', '--write', file],
      ['ssh-config', '--cluster', 'prod', '--write', file],
    ]) {
      const ended = await edge(env, ...words);
      t.deepEqual(
        [ended.status === 0, ended.stdout, existsSync(file)],
        [false, '', false],
        `${JSON.stringify(domain)}: ${ended.stderr}`,
      );
      t.regex(ended.stderr, /^edge: [^\n]+\n$/u);
    }
  }
});

test('a domain that is one is written', async (t) => {
  const { url } = await service(t, { get_cluster: { name: 'prod', vpn_domain: 'prod.edge.internal' } });
  const { status, stdout } = await edge(stranger(t, url), 'ssh-config', '--cluster', 'prod');

  t.is(status, 0);
  t.regex(stdout, /^Host \*\.prod\.edge\.internal$/mu);
});

test('ssh is started for host names and ports only', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'ssh'), `#!/bin/sh\necho "$@" > ${join(directory, 'started')}\n`, { mode: 0o755 });
  const honest = {
    id: NODE,
    vpn_hostname: 'node-1.prod.edge.internal',
    ssh_port: 40_022,
    status: 'healthy',
    aliases: [],
  };
  const lies = [
    { vpn_hostname: '$(touch${IFS}HACKED).a.b' },
    { vpn_hostname: '-oProxyCommand=id' },
    { ssh_port: '22\nProxyCommand=id' },
  ];

  const usernames = { data: [{ username: 'ada' }], pagination: { total_count: 1, has_next: false } };
  const ssh = async (node: object) => {
    const { url } = await service(t, { get_node: node, list_ssh_usernames: usernames });
    return edge({ ...stranger(t, url), PATH: `${directory}:${process.env['PATH'] ?? ''}` }, 'ssh', NODE);
  };

  for (const lie of lies) {
    const ended = await ssh({ ...honest, ...lie });
    t.deepEqual([ended.status, existsSync(join(directory, 'started'))], [1, false], ended.stderr);
    t.regex(ended.stderr, /^edge: the service says [^\n]+\n$/u);
  }
  const services = [{ name: 'ssh', problem: 'port taken\u001b[2J' }];
  t.deepEqual(await ssh({ ...honest, status_evidence: { services } }), {
    status: 1,
    stdout: '',
    stderr: `edge: the SSH server of ${NODE} does not work (port taken [2J): edge doctor ${NODE}\n`,
  });
  await ssh(honest);
  t.regex(readFileSync(join(directory, 'started'), 'utf8'), /-- node-1\.prod\.edge\.internal\n$/u);
});

test('what turns text round or orders a terminal about reaches none of the formats', async (t) => {
  const sly = 'web\u202egpj.exe\u2066\u009b31m\u001b[2J\u2028\u200b\u{e0041}';
  const rows = {
    data: [
      {
        id: NODE,
        name: sly,
        aliases: [{ name: sly }],
        cluster_name: sly,
        status: 'healthy',
        version: sly,
        status_reason: sly,
      },
    ],
    pagination: { total_count: 1, has_next: false },
  };
  const { url } = await service(t, { list_nodes: rows, get_node: rows.data[0] });
  const env = stranger(t, url);

  for (const words of [
    ['node', 'ls'],
    ['node', 'get', NODE],
    ['-o', 'json', 'node', 'ls'],
    ['-o', 'ndjson', 'node', 'ls'],
  ]) {
    const { status, stdout } = await edge(env, ...words);
    t.is(status, 0);
    t.notRegex(stdout.replaceAll('\n', ''), /[\p{Cc}\p{Zl}\p{Bidi_Control}\u{200b}\u{e0041}]/u, words.join(' '));
  }
  t.deepEqual(
    (JSON.parse((await edge(env, '-o', 'json', 'node', 'ls')).stdout) as readonly unknown[])[0],
    rows.data[0],
  );
});

test('what is no word is not offered to a shell, which would take it for a command', async (t) => {
  const rows = {
    data: ['$(touch hacked)', '`id`', 'a;b', '-rf', 'web-1', 'x\ny'].map((name, index) => ({
      id: `${index}${NODE.slice(1)}`,
      name,
    })),
    pagination: { total_count: 6, has_next: false },
  };
  const { url } = await service(t, { list_nodes: rows });
  const { status, stdout } = await edge(stranger(t, url), '__complete', 'node', 'get', '');

  t.deepEqual([status, stdout], [0, 'web-1\n']);
});
