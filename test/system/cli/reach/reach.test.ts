/**
 * Ports of a machine, and what lies behind it, by the command line and by programs that it tells where to go: end to
 * end.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { certificates } from '../../../support/certificates.ts';
import { FLEET_KEYS } from '../../../support/fleet.ts';
import type { AgentProgram } from '../../../support/fleet/agent-program.ts';
import { freePort } from '../../../support/free-ports.ts';
import { createScope } from '../../../support/scope.ts';
import { sharedFleet } from '../../../support/shared-fleet.ts';
import { until } from '../../../support/until.ts';
import { startEdge, type Ended, type RunningEdge } from '../../../support/edge-program.ts';
import { ALIAS, createReachFixture, type ReachFixture } from './fixture.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { listening } from '../../../support/listening.ts';

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

/** Answers all that it read, when it has read all, with its hash. */
const hashing = (): Server =>
  createServer({ allowHalfOpen: true }, (socket) => {
    const hash = createHash('sha256');
    socket
      .on('error', () => {})
      .on('data', (chunk) => hash.update(chunk))
      .on('end', () => socket.end(hash.digest('hex')));
  });

interface Forwarding extends RunningEdge {
  readonly ports: readonly number[];
  readonly said: () => string;
  interrupt(): Promise<Ended>;
}

async function forwarding(
  t: ExecutionContext,
  words: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Forwarding> {
  const running = fixture.start(['forward', ALIAS, ...words, '-o', 'ndjson'], more);
  t.teardown(() => {
    running.process.kill('SIGKILL');
  });
  let [shown, said] = ['', ''];
  running.process.stdout?.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  running.process.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const lines = await until('the forwards', () => {
    const found = shown.split('\n').filter((line) => line !== '');
    return found.length === words.length || running.process.exitCode !== null ? found : null;
  });
  return {
    ...running,
    ports: lines.map((line) => Number((JSON.parse(line) as { local: string }).local.split(':').at(-1))),
    said: () => said,
    interrupt() {
      running.process.kill('SIGINT');
      return running.ended;
    },
  };
}

test.serial('stdin and stdout are joined to a port of a machine, each way until its end', async (t) => {
  const port = await listening(t, hashing());
  const content = randomBytes(5_000_000);

  for (const words of [
    ['connect', fixture.host, String(port)],
    ['connect', ALIAS, String(port)],
    ['connect', fixture.node.id, `localhost:${port}`],
  ]) {
    const { status, stdout, stderr } = await fixture.run(process.execPath, ['cli/edge.ts', ...words], content);
    t.deepEqual([status, stdout, stderr], [0, createHash('sha256').update(content).digest('hex'), ''], words.join(' '));
  }
});

test.serial('a machine that says all and ends first is heard to its end, while stdin stays open', async (t) => {
  const all = randomBytes(3_000_000);
  const port = await listening(
    t,
    createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {}).end(all);
    }),
  );
  const { process: child } = startOpen(['connect', fixture.host, String(port)]);
  t.teardown(() => {
    child.kill('SIGKILL');
  });
  const hash = createHash('sha256');
  child.stdout?.on('data', (chunk: Buffer) => hash.update(chunk));

  await once(child.stdout ?? child, 'end'); // its stdin is open
  child.stdin?.end();
  const [status] = (await once(child, 'close')) as [number | null];

  t.deepEqual([status, hash.digest('hex')], [0, createHash('sha256').update(all).digest('hex')]);
});

test.serial('a stream that is cut says so, with status 1', async (t) => {
  const sockets: Socket[] = [];
  const port = await listening(
    t,
    createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {}).write('begun');
    }),
  );
  const running = startOpen(['connect', fixture.host, String(port)]);
  t.teardown(() => {
    running.process.kill('SIGKILL');
  });

  await once(running.process.stdout ?? running.process, 'data');
  sockets[0]?.resetAndDestroy();
  const { status, stderr } = await running.ended;

  t.deepEqual([status, stderr], [1, `edge: the connection to ${fixture.host} was cut\n`]);
});

/** An `edge` whose stdin stays open. */
function startOpen(words: readonly string[]): RunningEdge {
  return startEdge(words, fixture.env, null);
}

test.serial('local ports lead to the machine and to what it reaches, many connections at once', async (t) => {
  const port = await listening(t, hashing());
  // Not what `localhost` is to a machine, and so reached through it, where its operator lets that be.
  const beyond = createHttpServer((_request, response) => response.end('from beyond')).listen(0, '127.0.0.2');
  await once(beyond, 'listening');
  t.teardown(() => {
    beyond.close();
    beyond.closeAllConnections();
  });
  const { port: beyondPort } = beyond.address() as AddressInfo;
  const running = await forwarding(t, [
    `0:localhost:${port}`,
    `127.0.0.1:0:127.0.0.1:${port}`,
    `0:127.0.0.2:${beyondPort}`,
  ]);

  const answers = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const content = randomBytes(200_000);
      const socket = connect({ port: running.ports[index % 2] ?? 0, host: '127.0.0.1', allowHalfOpen: true }).on(
        'error',
        () => {},
      );
      socket.end(content);
      return (await text(socket)) === createHash('sha256').update(content).digest('hex');
    }),
  );
  const fetched = await fetch(`http://127.0.0.1:${running.ports[2] ?? 0}/`).then(async (response) => response.text());
  const { status, stdout, stderr } = await running.interrupt();

  t.deepEqual(
    answers,
    Array.from({ length: 30 }, () => true),
  );
  t.is(fetched, 'from beyond');
  t.deepEqual([status, stderr], [0, '']);
  t.deepEqual(JSON.parse(stdout.split('\n')[0] ?? '') as object, {
    local: `127.0.0.1:${running.ports[0] ?? 0}`,
    remote: `localhost:${port}`,
    node: fixture.host,
  });
});

test.serial('a connection that fails is one line, and the forward goes on', async (t) => {
  const [closed, open] = [await freePort(), await listening(t, hashing())];
  const running = await forwarding(t, [`0:localhost:${closed}`, `0:localhost:${open}`]);

  await t.throwsAsync(text(connect(running.ports[0] ?? 0, '127.0.0.1')));
  await until('the line', () => running.said().includes('\n'));
  const socket = connect({ port: running.ports[1] ?? 0, host: '127.0.0.1', allowHalfOpen: true });
  socket.end('x');
  t.is(await text(socket), createHash('sha256').update('x').digest('hex'));
  const { status, stderr } = await running.interrupt();

  t.is(status, 0);
  t.is(
    stderr,
    `edge: localhost:${closed}: Port ${closed} of the machine refuses connections: nothing listens there.\n`,
  );
});

test.serial('a port that is taken is told, and the others are let go', async (t) => {
  const taken = await listening(t, createServer());
  const { status, stdout, stderr } = await fixture.edge('forward', ALIAS, '0:localhost:80', `${taken}:localhost:80`);

  t.deepEqual(
    [status, stdout, stderr],
    [
      1,
      '',
      `edge: cannot listen on 127.0.0.1:${taken}: another program listens there already: take another port, or 0 for a free one\n`,
    ],
  );
});

test.serial('curl goes through a machine, and to it, by the URL that is printed or exported', async (t) => {
  const server = createHttpServer((request, response) => response.end(`hello ${request.headers.host}`)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const urls = await Promise.all(
    [[], ['--socks5']].map(async (flags) => (await fixture.edge('proxy-url', ...flags)).stdout.trim()),
  );
  const through = (await fixture.edge('proxy-url', ALIAS)).stdout.trim();
  const exported = await fixture.edge('proxy-url', ALIAS, '--export');

  const key = FLEET_KEYS.PROXY_KEY;
  const [http, socks] = [fixture.env['EDGE_PROXY_URL'] ?? '', fixture.env['EDGE_SOCKS5_URL'] ?? ''].map(
    (url) => url.split('//')[1],
  );
  t.deepEqual(urls, [`http://_:${key}@${http}`, `socks5h://_:${key}@${socks}`]);
  t.is(through, `http://${fixture.host}:${key}@${http}`);
  t.is(
    exported.stdout,
    ['http_proxy', 'https_proxy', 'all_proxy'].map((name) => `export ${name}=${through}\n`).join(''),
  );
  for (const url of urls) {
    const { status, stdout, stderr } = await fixture.run('curl', [
      '-sS',
      '--max-time',
      '20',
      '-x',
      url,
      `http://${fixture.host}:${port}/`,
    ]);
    t.deepEqual([status, stdout], [0, `hello ${fixture.host}:${port}`], stderr);
  }
  const shell = await fixture.run('sh', [
    '-c',
    `${exported.stdout}curl -sS --max-time 20 -w '%{http_code}' http://127.0.0.1:${port}/`,
  ]);
  t.regex(shell.stdout, /403$/u); // what is loopback to a machine is no target behind it, and the proxy says so
});

test.serial('what is wrong is one clear line, with the exit status of its kind', async (t) => {
  const nowhere = await freePort();
  const other = await listening(
    t,
    createServer((socket) => {
      socket.on('error', () => {}).end('SSH-2.0-other\r\n');
    }),
  );
  const cases: readonly (readonly [
    status: number,
    line: RegExp,
    words: readonly string[],
    env?: Readonly<Record<string, string>>,
  ])[] = [
    [4, /there is no node "nowhere"/u, ['ssh', 'nowhere']],
    [4, /there is no node "nowhere"/u, ['cp', 'nowhere:x', 'y']],
    [4, /there is no node "nowhere"/u, ['forward', 'nowhere', '0:localhost:1']],
    [4, /there is no node "nowhere"/u, ['proxy-url', 'nowhere']],
    [4, /there is no node "nowhere"/u, ['connect', 'nowhere', '22']],
    [
      4,
      /No node or alias has the name nowhere\.fleet\.edge\.internal/u,
      ['connect', 'nowhere.fleet.edge.internal', '22'],
    ],
    [1, /Port 9 of the machine refuses connections/u, ['connect', fixture.host, '9']],
    [
      3,
      /does not accept this key: set EDGE_PROXY_KEY to PROXY_KEY or MASTER_KEY/u,
      ['connect', fixture.host, '9'],
      { EDGE_PROXY_KEY: 'wrong' },
    ],
    [
      3,
      /does not accept this key: set EDGE_PROXY_KEY to PROXY_KEY or MASTER_KEY/u,
      ['forward', ALIAS, '0:localhost:1'],
      { EDGE_PROXY_KEY: '' },
    ],
    [
      1,
      new RegExp(`cannot reach the proxy http://127\\.0\\.0\\.1:${nowhere} \\(ECONNREFUSED\\)`, 'u'),
      ['connect', fixture.host, '9'],
      { EDGE_PROXY_URL: `http://127.0.0.1:${nowhere}` },
    ],
    [
      1,
      /cannot reach the proxy .* \(ECONNREFUSED\)/u,
      ['forward', ALIAS, '0:localhost:1'],
      { EDGE_PROXY_URL: `http://127.0.0.1:${nowhere}` },
    ],
    [
      1,
      /what answers at .* is no HTTP proxy/u,
      ['connect', fixture.host, '9'],
      { EDGE_PROXY_URL: `http://127.0.0.1:${other}` },
    ],
    [
      1,
      /cannot reach the proxy https:/u,
      ['connect', fixture.host, '9'],
      { EDGE_PROXY_URL: `https://127.0.0.1:${other}` },
    ],
    [2, /"ftp:\/\/x" is no URL of a proxy/u, ['connect', fixture.host, '9'], { EDGE_PROXY_URL: 'ftp://x' }],
    [2, /must not hold the key/u, ['ssh', ALIAS], { EDGE_PROXY_URL: 'http://_:hidden@127.0.0.1:1' }],
    [
      2,
      /set EDGE_PROXY_URL \(or edge login --proxy-url\)/u,
      ['connect', fixture.host, '9'],
      { EDGE_PROXY_URL: '', EDGE_URL: 'https://admin.example' },
    ],
    [2, /is neither a port nor HOST:PORT/u, ['connect', fixture.host, '99999']],
    [2, /is neither a port nor HOST:PORT/u, ['connect', ALIAS, 'a b:1']],
    [2, /"80" is no forward/u, ['forward', ALIAS, '80']],
    [2, /"8080:localhost:0" is no forward/u, ['forward', ALIAS, '8080:localhost:0']],
    [2, /a node is missing/u, ['ssh', '-v']],
    [2, /--cluster is no option of ssh/u, ['ssh', '--cluster', 'x', ALIAS]],
    [2, /nothing of this is on a node/u, ['cp', 'a', 'b']],
    [2, /both sides are on a node/u, ['cp', `${ALIAS}:a`, `${ALIAS}:b`]],
    [2, /say what to copy/u, ['cp', '-r', `${ALIAS}:a`]],
    [2, /from 2 nodes/u, ['cp', `${ALIAS}:a`, 'db-1:b', '.']],
    [2, /"x" is no URL of a SOCKS5 proxy/u, ['proxy-url', '--socks5'], { EDGE_SOCKS5_URL: 'x' }],
    [4, /there is no such thing/u, ['ssh-config', '--cluster', 'none']],
    [1, /there is no ssh on this machine's PATH/u, ['ssh', ALIAS], { PATH: '/nonexistent' }],
  ];

  for (const [status, line, words, env] of cases) {
    const ended = await fixture.start(words, env).ended;
    t.deepEqual(
      [ended.status, ended.stdout, ended.stderr.split('\n').length],
      [status, '', 2],
      `${words.join(' ')}: ${ended.stderr}`,
    );
    t.regex(ended.stderr, line, words.join(' '));
    t.false(/hidden|proxy-key-of/u.test(ended.stderr));
  }
});

test.serial('a proxy behind TLS is reached when its certificate is good, and not otherwise', async (t) => {
  const port = await listening(t, hashing());
  const made = await certificates(fixture.directory);
  const { hostname, port: proxyPort } = new URL(fixture.env['EDGE_PROXY_URL'] ?? '');
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
  const frontPort = await listening(
    t,
    front.on('tlsClientError', () => {}),
  );
  const env = { EDGE_PROXY_URL: `https://localhost:${frontPort}` };
  const content = randomBytes(1_000_000);

  const trusted = await fixture.run(process.execPath, ['cli/edge.ts', 'connect', fixture.host, String(port)], content, {
    ...env,
    NODE_EXTRA_CA_CERTS: made.ca,
  });
  const unknown = await fixture.start(['connect', fixture.host, String(port)], env).ended;

  t.deepEqual(trusted, { status: 0, stdout: createHash('sha256').update(content).digest('hex'), stderr: '' });
  t.is(unknown.status, 1);
  t.regex(
    unknown.stderr,
    /^edge: cannot reach the proxy https:\/\/localhost:\d+ \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)[^\n]*\n$/u,
  );
});

test.serial(
  'what edge login was told about the proxy is used by the next commands, for this service only',
  async (t) => {
    const port = await listening(t, hashing());
    const directory = temporaryDirectory(t);
    const env = { XDG_CONFIG_HOME: directory };
    const {
      EDGE_URL: url = '',
      EDGE_API_KEY: key = '',
      EDGE_PROXY_URL: proxyUrl = '',
      EDGE_PROXY_KEY: proxyKey = '',
    } = fixture.env;

    const login = await startEdge(
      ['login', '--url', url, '--proxy-url', proxyUrl, '--proxy-key-stdin'],
      env,
      `${key}\n${proxyKey}\n`,
    ).ended;
    const missing = await startEdge(['login', '--url', url, '--proxy-key-stdin'], env, `${key}\n`).ended;
    const connected = await startEdge(['connect', fixture.host, String(port)], env, 'x').ended;
    const again = await startEdge(['login', '--url', url, '--key', key], env).ended;
    const stillConnected = await startEdge(['connect', fixture.host, String(port)], env, 'x').ended;
    const elsewhere = await startEdge(
      ['connect', fixture.host, String(port)],
      { ...env, EDGE_URL: 'http://127.0.0.1:1', EDGE_PROXY_URL: proxyUrl },
      'x',
    ).ended;

    t.deepEqual(
      [login, missing, again].map(({ status }) => status),
      [0, 2, 0],
      login.stderr + missing.stderr + again.stderr,
    );
    t.regex(missing.stderr, /no key of the proxy was given/u);
    t.deepEqual(connected, { status: 0, stdout: createHash('sha256').update('x').digest('hex'), stderr: '' });
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
  const { status, stderr } = await fixture.edge('connect', 'gone.fleet.edge.internal', '22');

  t.is(status, 1);
  t.regex(stderr, /^edge: [^\n]*not connected[^\n]*\n$/u);

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
