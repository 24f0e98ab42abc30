/**
 * Ports of a machine, and what lies behind it, by the command line and by programs that it tells where to go: end to
 * end.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { peerTest } from '../../../support/run/peer-test.ts';
import { certificates } from '../../../support/net/certificates.ts';
import { startEdge } from '../../../support/edge-program.ts';
import { FLEET_KEYS } from '../../../support/fleet.ts';
import type { AgentProgram } from '../../../support/fleet/agent-program.ts';
import { freePort } from '../../../support/net/free-ports.ts';
import { hashing, listening, origin, sha256, takenPort, target } from '../../../support/net/listening.ts';
import { createScope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';
import { refused, wordsOf } from '../fixture.ts';
import { ALIAS, createReachFixture, type Env, type ReachFixture } from './fixture.ts';
import { refusals } from './refusals.ts';

const withCurl = await peerTest('curl');
const scope = createScope();
const fleet = sharedFleet(test, {
  agents: 1,
  agentEnv: { AGENT_ALIASES: ALIAS, PROXY_CUSTOM_ALLOWED_HOSTS: '127.0.0.2' },
});
let fixture: ReachFixture;
let gone: AgentProgram;

test.serial.before(async () => {
  fixture = await createReachFixture(scope, fleet());
  gone = await fleet().addAgent({ AGENT_ALIASES: 'gone' });
  await gone.live();
  await fleet().reaches(gone, 'healthy');
  await gone.kill(); // it takes its time to be noticed
});

test.after.always('its files go', () => scope.end());

/** Starts forwards: `edge`, and its local ports. */
async function forwarding(t: ExecutionContext, ...words: readonly string[]) {
  const running = fixture.start(t, ['forward', ALIAS, ...words, '-o', 'ndjson']);
  const lines = await until('the forwards', () => {
    const found = running.stdout.split('\n').filter((line) => line !== '');
    return found.length === words.length || running.process.exitCode !== null ? found : null;
  });
  const ports = lines.map((line) => Number((JSON.parse(line) as { local: string }).local.split(':').at(-1)));
  return { running, ports };
}

/** Says all of it to a local port, and hears the answer. */
function converse(port: number | undefined, content: string | Buffer): Promise<string> {
  const socket = connect({ port: port ?? 0, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
  socket.end(content);
  return text(socket);
}

test.serial('stdin and stdout are joined to a port of a machine, each way until its end', async (t) => {
  const port = await hashing(t);
  const content = randomBytes(5_000_000);

  for (const words of [
    ['connect', fixture.host, String(port)],
    ['connect', ALIAS, String(port)],
    ['connect', fixture.node.id, `localhost:${port}`],
  ]) {
    const ended = await fixture.start(t, words, content).ended;
    t.deepEqual(ended, { status: 0, stdout: sha256(content), stderr: '' }, words.join(' '));
  }
});

test.serial(
  'a machine is reached by what it calls itself, which may be the name of a domain in any case',
  async (t) => {
    const port = await hashing(t);
    const name = 'DB01.eu-west-1.compute.internal';
    await fleet().sql(
      `update node_facts set facts = jsonb_set(facts, '{hostname}', to_jsonb($1::text)) where node_id = $2`,
      [name, fixture.node.id],
    );

    const connected = await fixture.start(t, ['connect', name, String(port)], 'x').ended;
    const through = await fixture.edge('proxy-url', name);

    t.deepEqual(connected, { status: 0, stdout: sha256('x'), stderr: '' });
    t.is(new URL(through.stdout).username, fixture.node.vpn_hostname);
  },
);

test.serial('a machine that says all and ends first is heard to its end, while stdin stays open', async (t) => {
  const all = randomBytes(1_500_000).toString('hex');
  const port = await target(t, (socket) => socket.end(all));
  const { process: child, ended } = fixture.start(t, ['connect', fixture.host, String(port)], null);

  await once(child.stdout, 'end'); // its stdin is open
  child.stdin.end();

  t.deepEqual(await ended, { status: 0, stdout: all, stderr: '' });
});

test.serial('a stream that is cut says so, with status 1', async (t) => {
  const sockets: Socket[] = [];
  const port = await target(t, (socket) => {
    sockets.push(socket);
    socket.write('begun');
  });
  const running = fixture.start(t, ['connect', fixture.host, String(port)], null);

  await running.says();
  sockets[0]?.resetAndDestroy();
  const { status, stderr } = await running.ended;

  t.deepEqual([status, stderr], [1, `edge: the connection to ${fixture.host} was cut\n`]);
});

test.serial('local ports lead to the machine and to what it reaches, many connections at once', async (t) => {
  const port = await hashing(t);
  // Not what `localhost` is to a machine, and so reached through it, where its operator lets that be.
  const beyond = await origin(t, (_request, response) => response.end('from beyond'), '127.0.0.2');
  const { running, ports } = await forwarding(
    t,
    `0:localhost:${port}`,
    `127.0.0.1:0:127.0.0.1:${port}`,
    `0:${new URL(beyond).host}`,
  );

  const answers = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const content = randomBytes(200_000);
      return (await converse(ports[index % 2], content)) === sha256(content);
    }),
  );
  const fetched = await (await fetch(`http://127.0.0.1:${ports[2]}/`)).text();
  const { status, stdout, stderr } = await running.interrupt();

  t.deepEqual(
    answers,
    Array.from({ length: 30 }, () => true),
  );
  t.is(fetched, 'from beyond');
  t.deepEqual([status, stderr], [0, '']);
  t.deepEqual(JSON.parse(stdout.split('\n')[0] ?? '') as object, {
    local: `127.0.0.1:${ports[0]}`,
    remote: `localhost:${port}`,
    node: fixture.host,
  });
});

test.serial('a connection that fails is one line, and the forward goes on', async (t) => {
  const [closed, open] = [await freePort(), await hashing(t)];
  const { running, ports } = await forwarding(t, `0:localhost:${closed}`, `0:localhost:${open}`);

  await t.throwsAsync(text(connect(ports[0] ?? 0, '127.0.0.1')));
  await running.says('stderr', /\n/u);
  t.is(await converse(ports[1], 'x'), sha256('x'));
  const { status, stderr } = await running.interrupt();

  t.is(status, 0);
  t.is(
    stderr,
    `edge: localhost:${closed}: Port ${closed} of the machine refuses connections: nothing listens there.\n`,
  );
});

test.serial('a port that is taken is told, and the others are let go', async (t) => {
  const taken = await takenPort(t);

  t.deepEqual(await fixture.edge('forward', ALIAS, '0:localhost:80', `${taken}:localhost:80`), {
    status: 1,
    stdout: '',
    stderr: `edge: cannot listen on 127.0.0.1:${taken}: another program listens there already: take another port, or 0 for a free one\n`,
  });
});

withCurl.serial('curl goes through a machine, and to it, by the URL that is printed or exported', async (t) => {
  const { port } = new URL(await origin(t, (request, response) => response.end(`hello ${request.headers.host}`)));
  const curl = 'curl -sS --max-time 20';
  const urls = await Promise.all(
    [[], ['--socks5']].map(async (flags) => (await fixture.edge('proxy-url', ...flags)).stdout.trim()),
  );
  const through = (await fixture.edge('proxy-url', ALIAS)).stdout.trim();
  const exported = await fixture.edge('proxy-url', ALIAS, '--export');

  const key = FLEET_KEYS.PROXY_KEY;
  const [http, socks] = [fixture.env.EDGE_PROXY_URL, fixture.env.EDGE_SOCKS5_URL].map((url) => url.split('//')[1]);
  t.deepEqual(urls, [`http://_:${key}@${http}`, `socks5h://_:${key}@${socks}`]);
  t.is(through, `http://${fixture.host}:${key}@${http}`);
  t.is(
    exported.stdout,
    ['http_proxy', 'https_proxy', 'all_proxy'].map((name) => `export ${name}=${through}\n`).join(''),
  );
  for (const url of urls) {
    const words = ['-c', `${curl} -x '${url}' http://${fixture.host}:${port}/`];
    const { status, stdout, stderr } = await fixture.run('sh', words);
    t.deepEqual([status, stdout], [0, `hello ${fixture.host}:${port}`], stderr);
  }
  const script = `${exported.stdout}${curl} -w '%{http_code}' http://127.0.0.1:${port}/`;
  const shell = await fixture.run('sh', ['-c', script]);
  t.regex(shell.stdout, /403$/u); // what is loopback to a machine is no target behind it, and the proxy says so
});

test.serial('what is wrong is one clear line, with the exit status of its kind', async (t) => {
  const nowhere = await freePort();
  const other = await target(t, (socket) => socket.end('SSH-2.0-other\r\n'));
  for (const [status, line, words, env] of refusals(fixture.host, nowhere, other)) {
    const ended = await fixture.start(t, wordsOf(words), '', env).ended;
    refused(t, ended, status, line, String(words));
    t.false(/hidden|proxy-key-of/u.test(ended.stderr));
  }
});

test.serial('a proxy behind TLS is reached when its certificate is good, and not otherwise', async (t) => {
  const port = await hashing(t);
  const made = await certificates(fixture.directory);
  const { hostname, port: proxyPort } = new URL(fixture.env.EDGE_PROXY_URL);
  const front = createTlsServer(
    { cert: readFileSync(made.server), key: readFileSync(made.serverKey), allowHalfOpen: true },
    (socket) => {
      const proxy = connect({ host: hostname, port: Number(proxyPort), allowHalfOpen: true }).on('error', () =>
        socket.destroy(),
      );
      socket
        .on('error', () => proxy.destroy())
        .pipe(proxy)
        .pipe(socket);
    },
  );
  const frontPort = await listening(t, front);
  const env = { EDGE_PROXY_URL: `https://localhost:${frontPort}` };
  const content = randomBytes(1_000_000);

  const words = ['connect', fixture.host, String(port)];
  const trusted = await fixture.start(t, words, content, { ...env, NODE_EXTRA_CA_CERTS: made.ca }).ended;
  const unknown = await fixture.start(t, words, '', env).ended;

  t.deepEqual(trusted, { status: 0, stdout: sha256(content), stderr: '' });
  const line = /cannot reach the proxy https:\/\/localhost:\d+ \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)/u;
  refused(t, unknown, 1, line);
});

test.serial(
  'what edge login was told about the proxy is used by the next commands, for this service only',
  async (t) => {
    const port = await hashing(t);
    const directory = temporaryDirectory(t);
    const { EDGE_URL: url, EDGE_API_KEY: key, EDGE_PROXY_URL: proxyUrl, EDGE_PROXY_KEY: proxyKey } = fixture.env;
    const edge = (words: string, stdin?: string, more: Env = {}) =>
      startEdge(words.split(' '), { XDG_CONFIG_HOME: directory, ...more }, stdin).ended;
    const connecting = `connect ${fixture.host} ${port}`;
    const other = { EDGE_URL: 'http://127.0.0.1:1', EDGE_PROXY_URL: proxyUrl };

    const login = await edge(`login --url ${url} --proxy-url ${proxyUrl} --proxy-key-stdin`, `${key}\n${proxyKey}\n`);
    const missing = await edge(`login --url ${url} --proxy-key-stdin`, `${key}\n`);
    const connected = await edge(connecting, 'x');
    const again = await edge(`login --url ${url} --key ${key}`);
    const stillConnected = await edge(connecting, 'x');
    const elsewhere = await edge(connecting, 'x', other);

    t.deepEqual(
      [login, missing, again].map(({ status }) => status),
      [0, 2, 0],
      login.stderr + missing.stderr + again.stderr,
    );
    t.regex(missing.stderr, /no key of the proxy was given/u);
    t.deepEqual(connected, { status: 0, stdout: sha256('x'), stderr: '' });
    t.deepEqual(stillConnected, connected);
    t.is(elsewhere.status, 3);
    t.deepEqual(JSON.parse(readFileSync(join(directory, 'edge', 'config.json'), 'utf8')) as object, {
      url,
      key,
      proxy_url: proxyUrl,
      proxy_key: proxyKey,
    });
  },
);

test.serial('a machine that is not connected is told in one line', async (t) => {
  refused(t, await fixture.edge('connect', 'gone.fleet.edge.internal', '22'), 1, /not connected/u);

  await fleet().reaches(gone, 'unreachable');
  for (const words of [
    ['ssh', 'gone', '--', 'true'],
    ['cp', 'gone:x', '.'],
  ])
    t.deepEqual(await fixture.edge(...words), {
      status: 1,
      stdout: '',
      stderr: 'edge: gone.fleet.edge.internal is not connected now: try again when that machine is back\n',
    });
});
