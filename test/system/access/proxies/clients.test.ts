/** The programs and libraries that people use, against both proxies. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once, type EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { ProxyAgent, request } from 'undici';
import { peerTest } from '../../../support/run/peer-test.ts';
import { peerPath } from '../../../support/run/peers.ts';
import { basic, echoes, openProxies, PASSWORD, type FixtureOptions } from '../../../support/net/proxies-fixture.ts';
import { openTarget, listening } from '../../../support/net/listening.ts';

/**
 * What is used of the package, which has no types. Its own `connect` calls a function that Node has no more; `Client`
 * does not.
 */
interface SocksPackage {
  readonly Client: new (options: {
    proxyHost: string;
    proxyPort: number;
    localDNS: boolean;
    auths: unknown[];
  }) => EventEmitter & { connect(target: { host: string; port: number }): void };
  readonly auth: { UserPassword(username: string, password: string): unknown; None(): unknown };
}

const socks = createRequire(import.meta.url)('socksv5') as SocksPackage;
const run = promisify(execFile);
const test = await peerTest('curl', 'ncat');
const BODY = randomBytes(3_000_000);

/** curl with these options: what it printed. Rejects with its exit status. */
async function curl(...options: string[]): Promise<Buffer> {
  const { stdout } = await run(await peerPath('curl'), ['--silent', '--show-error', '--max-time', '60', ...options], {
    encoding: 'buffer',
    maxBuffer: 64 * 1_048_576,
    env: {},
  });
  return stdout;
}

/** Both proxies, and a web server that gives BODY, or what it is posted. */
async function fixture(t: ExecutionContext, options: FixtureOptions = {}) {
  const port = await listening(
    t,
    createServer(
      (incoming, response) =>
        void buffer(incoming).then((bytes) => response.end(incoming.method === 'POST' ? bytes : BODY)),
    ),
  );
  const proxy = await openProxies(t, options);
  return {
    port,
    url: `http://127.0.0.1:${port}/`,
    named: `http://web-1.edge:${port}/`,
    http: `http://127.0.0.1:${proxy.httpPort}`,
    socks: `127.0.0.1:${proxy.socksPort}`,
    proxy,
  };
}

/** Options of curl for those who know the password. */
const USER = ['--proxy-user', `_:${PASSWORD}`];

/** A client of socksv5 that goes somewhere. */
function socksClient(there: Awaited<ReturnType<typeof fixture>>, auth: unknown, port: number) {
  const client = new socks.Client({
    proxyHost: '127.0.0.1',
    proxyPort: there.proxy.socksPort,
    localDNS: false,
    auths: [auth],
  });
  client.connect({ host: 'web-1.edge', port });
  return client;
}

const ways = {
  'the HTTP proxy': (at: { http: string }) => ['--proxy', at.http],
  CONNECT: (at: { http: string }) => ['--proxy', at.http, '--proxytunnel'],
  'SOCKS5 and its names': (at: { socks: string }) => ['--socks5-hostname', at.socks],
};

for (const [way, options] of Object.entries(ways)) {
  test(`curl gets and posts through ${way}`, async (t) => {
    const there = await fixture(t);
    const asked = [...options(there), ...USER];

    t.true((await curl(...asked, there.named)).equals(BODY));
    t.is((await curl(...asked, '--data-binary', 'some words', there.named)).toString(), 'some words');

    t.deepEqual(
      new Set(there.proxy.dialled.map(({ host, username }) => `${username} ${host}`)),
      new Set(['_ web-1.edge']),
    );
  });

  test(`curl with a wrong password is refused by ${way} and says so`, async (t) => {
    const there = await fixture(t);

    const failure = await t.throwsAsync<Error & { stderr: Buffer }>(
      curl(...options(there), '--proxy-user', '_:guess', '--fail', there.named),
    );

    t.regex(failure.stderr.toString(), /407|User was rejected|\(22\)/u);
    t.deepEqual(there.proxy.dialled, []);
  });
}

test('curl resolves names itself with --socks5', async (t) => {
  const there = await fixture(t);

  const got = await curl('--socks5', there.socks, ...USER, there.url.replace('127.0.0.1', 'localhost'), '--ipv4');

  t.true(got.equals(BODY));
  t.is(there.proxy.dialled[0]?.host, '127.0.0.1');
});

test('curl goes to an IPv6 address through both', async (t) => {
  const there = await fixture(t, {
    dial: () => Promise.resolve({ ok: false, failure: 'unreachable', message: 'No.' }),
  });

  await t.throwsAsync(curl('--socks5-hostname', there.socks, ...USER, 'http://[2001:db8::a01]/'));
  await curl('--proxy', there.http, ...USER, 'http://[2001:db8::a01]/');

  t.deepEqual(
    there.proxy.dialled.map(({ host, port }) => [host, port]),
    [
      ['2001:db8::a01', 80],
      ['2001:db8::a01', 80],
    ],
  );
});

test('curl names what went wrong', async (t) => {
  const there = await fixture(t, {
    dial: () => Promise.resolve({ ok: false, failure: 'refused', message: 'Nothing listens there.' }),
  });

  t.is(
    (await curl('--proxy', there.http, ...USER, '--write-out', ' %{http_code}', there.url)).toString(),
    'Nothing listens there.\n 502',
  );
  const failure = await t.throwsAsync<Error & { stderr: Buffer }>(
    curl('--socks5-hostname', there.socks, ...USER, there.url),
  );
  t.regex(failure.stderr.toString(), /Can't complete SOCKS5 connection to .*\(5\)/u);
});

test('curl keeps its connection for several requests, and waits for 100 Continue', async (t) => {
  const there = await fixture(t);

  const post = ['--header', 'Expect: 100-continue', '--data-binary', 'words', '--write-out', ' %{num_connects};'];
  const answers = await curl('--proxy', there.http, ...USER, ...post, there.url, there.url);

  t.is(answers.toString(), 'words 1;words 0;');
});

for (const [type, way] of [
  ['http', 'http'],
  ['socks5', 'socks'],
] as const) {
  test(`ncat as a ProxyCommand gets through ${type}, with half-close`, async (t) => {
    const target = await openTarget(t, echoes);
    const there = await fixture(t);
    const child = execFile(await peerPath('ncat'), [
      '--proxy',
      there[way].replace('http://', ''),
      '--proxy-type',
      type,
      '--proxy-auth',
      `_:${PASSWORD}`,
      '127.0.0.1',
      String(target.port),
    ]);

    child.stdin?.end('SSH-2.0-client\r\n');

    t.is(await text(child.stdout ?? Readable.from([])), 'SSH-2.0-client\r\n');
    if (child.exitCode === null) await once(child, 'exit');
    t.is(child.exitCode, 0);
  });
}

test('undici goes through CONNECT', async (t) => {
  const there = await fixture(t);
  const agent = new ProxyAgent({ uri: there.http, token: basic('node-1.edge'), proxyTunnel: true });
  t.teardown(() => agent.close());

  const answer = await request(there.named, { dispatcher: agent });

  t.true(Buffer.from(await answer.body.arrayBuffer()).equals(BODY));
  t.like(there.proxy.dialled, [{ username: 'node-1.edge', host: 'web-1.edge' }]);
});

test('the client of socksv5 gets through with a password, and its bytes are the same', async (t) => {
  const target = await openTarget(t, echoes);
  const there = await fixture(t);
  const client = socksClient(there, socks.auth.UserPassword('_', PASSWORD), target.port);
  const [socket] = (await once(client, 'connect')) as [Socket];

  socket.end(BODY);

  t.true((await buffer(socket)).equals(BODY));
});

test('the client of socksv5 without a password is turned away', async (t) => {
  const there = await fixture(t);

  const [error] = (await once(socksClient(there, socks.auth.None(), 1), 'error')) as [Error];

  t.regex(error.message, /auth/iu);
});
