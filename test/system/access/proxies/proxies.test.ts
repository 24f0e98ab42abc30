/**
 * The agent's own proxies as people use them: curl with all that it knows of proxies. What they reach in a LAN is in
 * egress/lan.test.ts.
 */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { ExecutionContext } from 'ava';
import { peerPath } from '../../../support/run/peers.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { startDnsServer } from '../../../support/net/dns-server.ts';
import { resolverBy } from '../../../../transport/net/outbound-guard/resolution.ts';
import {
  httpStatus,
  PASSWORD,
  socks5Reply,
  startFixture,
  type AgentProxiesFixture,
} from '../../../support/agent/proxies-fixture.ts';
import { listening, takenPort } from '../../../support/net/listening.ts';

const test = await peerTest('curl');

/** Opens loopback, where the servers of these tests are. */
const OPEN = { PROXY_CUSTOM_ALLOWED_HOSTS: '127.0.0.0/8,*.test' };

const USER = `_:${PASSWORD}`;

/** What curl printed, and its exit status. */
async function curl(...words: readonly string[]): Promise<{ code: number; out: string }> {
  const path = await peerPath('curl');
  return new Promise((resolve) => {
    execFile(path, ['-sS', '--noproxy', '', '--max-time', '20', ...words], { env: {} }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: error === null ? stdout : stderr });
    });
  });
}

/** A server that says how it was asked. */
async function startServer(t: ExecutionContext): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim());
    response.end(`hello to ${request.headers.host}`);
  });
  return { port: await listening(t, server), asked };
}

/** The ways in which curl can ask a proxy. */
function ways({ httpPort, socks5Port }: AgentProxiesFixture, user = USER): string[][] {
  return [
    ['--proxy', `http://127.0.0.1:${httpPort}`, '--proxy-user', user],
    ['--proxy', `http://127.0.0.1:${httpPort}`, '--proxy-user', user, '--proxytunnel'],
    ['--socks5-hostname', `127.0.0.1:${socks5Port}`, '--proxy-user', user],
    ['--socks5', `127.0.0.1:${socks5Port}`, '--proxy-user', user],
  ];
}

test('curl gets through by the HTTP proxy, by CONNECT, and by SOCKS5 with a name and with an address', async (t) => {
  const [fixture, { port, asked }] = await Promise.all([startFixture(t, OPEN), startServer(t)]);

  const got = await Promise.all(ways(fixture).map((way) => curl(...way, `http://127.0.0.1:${port}/x`)));

  t.deepEqual(
    got,
    ways(fixture).map(() => ({ code: 0, out: `hello to 127.0.0.1:${port}` })),
  );
  t.deepEqual(
    asked,
    asked.map(() => 'GET /x'),
  );
  t.is(fixture.egress.counts().opened, 4);
});

test('names are resolved by the agent', async (t) => {
  const { server, questions } = await startDnsServer(t, () => ({ addresses: ['127.0.0.1'] }));
  const [fixture, { port }] = await Promise.all([startFixture(t, OPEN, resolverBy([server])), startServer(t)]);

  const got = await Promise.all(
    ways(fixture)
      .slice(0, 3)
      .map((way) => curl(...way, `http://box.test:${port}/`)),
  );

  t.deepEqual(
    got,
    got.map(() => ({ code: 0, out: `hello to box.test:${port}` })),
  );
  t.deepEqual([...new Set(questions)].toSorted(), ['A box.test', 'AAAA box.test']);
});

test('without the password of the node nobody gets in, whatever else is shown', async (t) => {
  const [fixture, { port, asked }] = await Promise.all([startFixture(t, OPEN), startServer(t)]);
  const users = ['_:wrong', '_:', `admin:${PASSWORD}`, `:${PASSWORD}`, `_:${PASSWORD} `, `_:${PASSWORD.toUpperCase()}`];

  const got = await Promise.all(
    users.flatMap((user) =>
      ways(fixture, user).map((way) =>
        curl(...way, '-o', '/dev/null', '-w', '%{http_code} %{http_connect}', `http://127.0.0.1:${port}/`),
      ),
    ),
  );

  t.deepEqual(
    got.map(({ code, out }, index) => [index % 4, code, ...(index % 4 === 0 ? [out] : [])]),
    users.flatMap(() => [
      [0, 0, '407 000'],
      [1, 56],
      [2, 97],
      [3, 97],
    ]),
  );
  const http = ['--proxy', `http://127.0.0.1:${fixture.httpPort}`];
  t.is((await curl(...http, '-o', '/dev/null', '-w', '%{http_code}', `http://127.0.0.1:${port}/`)).out, '407');
  t.is((await curl('--socks5', `127.0.0.1:${fixture.socks5Port}`, `http://127.0.0.1:${port}/`)).code, 97);
  t.deepEqual([asked, fixture.egress.counts().opened], [[], 0]);
});

test('who guesses is told to wait after 30 wrong passwords, and the right one still gets in', async (t) => {
  const [fixture, { port }] = await Promise.all([startFixture(t, OPEN), startServer(t)]);
  const proxy = { host: '127.0.0.1', port: fixture.httpPort };
  const line = `GET http://127.0.0.1:${port}/ HTTP/1.1`;
  const statuses: number[] = [];

  for (let guess = 0; guess < 32; guess += 1)
    statuses.push(await httpStatus({ ...proxy, password: `guess ${guess}` }, line));

  t.deepEqual(statuses, [...Array.from({ length: 30 }, () => 407), 429, 429]);
  t.is(await httpStatus(proxy, line), 200);
  t.is(await socks5Reply({ host: '127.0.0.1', port: fixture.socks5Port }, { name: '127.0.0.1' }, port), 0);
});

test('where no password is wanted any will do, and none', async (t) => {
  const [fixture, { port }] = await Promise.all([
    startFixture(t, { ...OPEN, AGENT_PROXY_AUTH_ENABLED: 'false' }),
    startServer(t),
  ]);
  const url = `http://127.0.0.1:${port}/`;

  const got = await Promise.all([
    ...ways(fixture, 'anybody:anything').map((way) => curl(...way, url)),
    curl('--proxy', `http://127.0.0.1:${fixture.httpPort}`, url),
    curl('--socks5-hostname', `127.0.0.1:${fixture.socks5Port}`, url),
  ]);

  t.deepEqual(
    got.map(({ code }) => code),
    [0, 0, 0, 0, 0, 0],
  );
});

test('a refusal says why, in the words of the protocol', async (t) => {
  const { server } = await startDnsServer(t, () => 'no-such-name');
  const fixture = await startFixture(t, { PROXY_BLOCKED_PORTS: '25,6000-6063' }, resolverBy([server]));
  const [http = []] = ways(fixture);
  const said = async (url: string) => {
    const { out } = await curl(...http, '-w', '%{http_code}', url);
    return [Number(out.slice(-3)), out.slice(0, -3).trim()];
  };
  const socks = (name: string, port: number) =>
    socks5Reply({ host: '127.0.0.1', port: fixture.socks5Port }, { name }, port);

  t.deepEqual(
    await Promise.all(
      [
        'http://127.0.0.1/',
        'http://169.254.169.254/latest/meta-data/',
        'http://10.0.0.1:6001/',
        'http://nowhere.test/',
        `http://127.0.0.1:${fixture.httpPort}/`,
      ].map(said),
    ),
    [
      [403, '127.0.0.1 is this machine itself, which is not reached this way.'],
      [403, '169.254.169.254 is a metadata, reserved or translated address, which is never reached.'],
      [403, 'Port 6001 is blocked by the operator of this machine.'],
      [502, 'nowhere.test does not resolve.'],
      [508, `127.0.0.1:${fixture.httpPort} is a proxy of this very machine.`],
    ],
  );
  t.deepEqual(
    await Promise.all([
      socks('127.0.0.1', 80),
      socks('169.254.169.254', 80),
      socks('10.0.0.1', 6_001),
      socks('nowhere.test', 80),
      socks('127.0.0.1', fixture.socks5Port),
    ]),
    [2, 2, 2, 4, 2],
  );
});

test('a port that is taken is said once and stays in the health report, and the other proxy works', async (t) => {
  const port = await takenPort(t);
  const [fixture, server] = await Promise.all([
    startFixture(t, { ...OPEN, AGENT_SOCKS5_PROXY_PORT: `${port}` }),
    startServer(t),
  ]);
  const problem = `The SOCKS5 proxy does not listen on port ${port}: another program has it. Its port is set by AGENT_SOCKS5_PROXY_PORT.`;

  t.deepEqual(
    fixture.proxies.services.map(({ name, problem: said }) => [name, said()]),
    [
      ['http_proxy', null],
      ['socks5_proxy', problem],
    ],
  );
  t.deepEqual(
    fixture.log
      .map((line) => JSON.parse(line) as { level: string; msg: string })
      .filter(({ level }) => level === 'warn')
      .map(({ msg }) => msg),
    [problem],
  );
  t.deepEqual(
    [Object.keys(fixture.proxies.ports), fixture.proxies.listening],
    [['http_proxy_port'], [{ address: '127.0.0.1', port: fixture.httpPort }]],
  );
  t.is((await curl(...(ways(fixture)[0] ?? []), `http://127.0.0.1:${server.port}/`)).code, 0);
});

test('proxies that are off listen nowhere and have no part in the health', async (t) => {
  const fixture = await startFixture(t, { AGENT_PROXY_ENABLED: 'false' });

  t.deepEqual(
    [fixture.proxies.ports, fixture.proxies.services, fixture.proxies.listening, fixture.log],
    [{}, [], [], []],
  );
});

test('several addresses are listened on under the same port', async (t) => {
  const [fixture, { port }] = await Promise.all([
    startFixture(t, { ...OPEN, AGENT_PROXY_HOST: '127.0.0.1,127.0.0.2,::1' }),
    startServer(t),
  ]);

  const statuses = await Promise.all(
    ['127.0.0.1', '127.0.0.2', '::1'].map((host) =>
      httpStatus({ host, port: fixture.httpPort }, `GET http://127.0.0.1:${port}/ HTTP/1.1`),
    ),
  );

  t.deepEqual([statuses, fixture.proxies.listening.length], [[200, 200, 200], 6]);
});

test('neither the password nor what was shown in its place is in the log', async (t) => {
  const fixture = await startFixture(t, OPEN);

  const http = { host: '127.0.0.1', port: fixture.httpPort };
  await httpStatus({ ...http, password: 'guessed-secret' }, 'GET http://10.0.0.1:25/ HTTP/1.1');
  await httpStatus(http, 'GET http://169.254.169.254/ HTTP/1.1');
  await socks5Reply({ host: '127.0.0.1', port: fixture.socks5Port, password: 'guessed-secret' }, { name: 'x' }, 80);

  const lines = fixture.log.join('');
  t.true(fixture.log.length >= 3);
  for (const secret of [PASSWORD, 'guessed-secret'])
    for (const form of [secret, Buffer.from(`_:${secret}`).toString('base64'), Buffer.from(secret).toString('base64')])
      t.false(lines.includes(form));
});
