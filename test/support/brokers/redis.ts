/** Real Redis servers for tests: alone, watched by sentinels, and as a cluster; read by redis-cli. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { certificates, type Certificates } from '../net/certificates.ts';
import { freePort } from '../net/free-ports.ts';
import { Program } from '../fleet/program.ts';
import { peerPath } from '../run/peers.ts';
import { startServer, type Restartable } from '../restartable.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const run = promisify(execFile);

/**
 * Ways to sign in at one server. `acl` is a user who may publish to edge.* and nothing else; `tls` has a password and
 * takes no plain connection.
 */
export const REDIS_MODES = ['none', 'password', 'acl', 'tls'] as const;
/** One of them. */
export type RedisMode = (typeof REDIS_MODES)[number];

/** One server. */
export interface RedisServer extends Restartable {
  readonly port: number;
  readonly certificates: Certificates | null;
  /** What EVENT_BROKER_REDIS_ settings must be to get in. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs redis-cli as a user who may do all, and answers what it prints. */
  cli(...words: readonly string[]): Promise<string>;
  /** Subscribes redis-cli to edge.*; it is subscribed when this resolves. */
  read(): Promise<RedisReader>;
}

/** A subscribed redis-cli. */
export interface RedisReader {
  /** Everything that came so far, in order. */
  messages(): readonly { readonly channel: string; readonly text: string }[];
}

/** Lines of configuration, and what they make of the settings. A user of the tests' own may do all. */
const WAYS: Readonly<
  Record<RedisMode, { readonly config: readonly string[]; readonly env: Readonly<Record<string, string>> }>
> = {
  none: { config: [], env: {} },
  password: {
    config: ['requirepass password-of-the-tests'],
    env: { EVENT_BROKER_REDIS_PASSWORD: 'password-of-the-tests' },
  },
  acl: {
    config: ['user default off', 'user edge on >password-of-edge resetchannels &edge.* -@all +publish'],
    env: { EVENT_BROKER_REDIS_USERNAME: 'edge', EVENT_BROKER_REDIS_PASSWORD: 'password-of-edge' },
  },
  tls: {
    config: ['requirepass password-of-the-tests'],
    env: { EVENT_BROKER_REDIS_PASSWORD: 'password-of-the-tests', EVENT_BROKER_REDIS_SSL: 'true' },
  },
};

/**
 * Starts a server on a port and a directory of its own; it ends with the scope. `further` are lines of its
 * configuration.
 */
export async function startRedis(
  scope: Scope,
  mode: RedisMode = 'none',
  further: readonly string[] = [],
  shared: Certificates | null = null,
): Promise<RedisServer> {
  const command = await peerPath('redis-server');
  const directory = temporaryDirectory(scope);
  const port = await freePort();
  const made = shared ?? (mode === 'tls' ? await certificates(directory) : null);
  const file = join(directory, 'redis.conf');
  await writeFile(
    file,
    [
      ...address(port, made),
      `dir ${directory}`,
      'save ""',
      'user tests on nopass ~* &* +@all',
      ...WAYS[mode].config,
      ...further,
      '',
    ].join('\n'),
  );
  const client = clientWords(port, made, ['--user', 'tests', '--pass', 'any']);
  const cliPath = join(dirname(command), 'redis-cli');
  const cli = async (...words: readonly string[]): Promise<string> =>
    (await run(cliPath, [...client, ...words])).stdout.trim();

  const server = await startServer(
    'the Redis server',
    () => Program.run(scope, command, [file]),
    ({ output }) => output.includes('Ready to accept connections'),
  );
  return {
    port,
    certificates: made,
    cli,
    ...server,
    env: { EVENT_BROKER_REDIS_URLS: `redis://127.0.0.1:${port}`, ...WAYS[mode].env },
    async read() {
      const program = Program.run(scope, cliPath, [...client, 'PSUBSCRIBE', 'edge.*']);
      await until('redis-cli to be subscribed', () => program.output.startsWith('psubscribe\nedge.*\n1\n'));
      return { messages: () => parsed(program.output) };
    },
  };
}

/** Three sentinels and the servers that they watch. */
export interface WatchedRedis {
  readonly servers: readonly RedisServer[];
  readonly sentinelPorts: readonly number[];
  readonly env: Readonly<Record<string, string>>;
  readonly certificates: Certificates | null;
  /** The server that is master, as most sentinels see it. */
  master(): Promise<RedisServer>;
  /** Makes another the master, in order, while all live on. */
  failover(): Promise<void>;
}

/**
 * Starts a master, a replica and three sentinels, all with passwords, and with TLS where asked. They agree within some
 * three seconds.
 */
export async function startWatchedRedis(scope: Scope, isEncrypted = false): Promise<WatchedRedis> {
  const made = isEncrypted ? await certificates(temporaryDirectory(scope)) : null;
  const mode = isEncrypted ? 'tls' : 'password';
  const replicated = [
    'masterauth password-of-the-tests',
    'repl-diskless-sync-delay 0',
    ...(made === null ? [] : ['tls-replication yes']),
  ];
  const first = await startRedis(scope, mode, replicated, made);
  const second = await startRedis(scope, mode, [...replicated, `replicaof 127.0.0.1 ${first.port}`], made);
  await until('the replica', async () => (await second.cli('INFO', 'replication')).includes('master_link_status:up'));
  const sentinels = await Promise.all([1, 2, 3].map(async () => startSentinel(scope, first.port, made)));
  await until('the sentinels to know each other and the replica', async () =>
    (await Promise.all(sentinels.map((ask) => ask('SENTINEL', 'MASTER', 'edge')))).every(
      (text) => /num-other-sentinels\n2\n/u.test(text) && /num-slaves\n1\n/u.test(text),
    ),
  );
  const servers = [first, second];

  const master = async (): Promise<RedisServer> =>
    until('a master', async () => {
      const ports = await Promise.all(
        sentinels.map(async (ask) => Number((await ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'edge')).split('\n')[1])),
      );
      const server = servers.find(({ port }) => ports.filter((seen) => seen === port).length > 1);
      return server && (await server.cli('ROLE')).startsWith('master') ? server : null;
    });
  return {
    servers,
    master,
    certificates: made,
    sentinelPorts: sentinels.map(({ port }) => port),
    env: {
      EVENT_BROKER_REDIS_URLS: sentinels.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
      EVENT_BROKER_REDIS_MODE: 'sentinel',
      EVENT_BROKER_REDIS_SENTINEL_GROUP: 'edge',
      EVENT_BROKER_REDIS_SENTINEL_PASSWORD: 'password-of-the-sentinels',
      ...WAYS[mode].env,
    },
    async failover() {
      const before = await master();
      await until(
        'the failover to be accepted',
        async () => (await sentinels[0]?.('SENTINEL', 'FAILOVER', 'edge')) === 'OK',
      );
      await until('another master', async () => (await master()) !== before);
    },
  };
}

/** One sentinel, as a function that asks it. */
async function startSentinel(
  scope: Scope,
  masterPort: number,
  made: Certificates | null,
): Promise<((...words: readonly string[]) => Promise<string>) & { readonly port: number }> {
  const command = await peerPath('redis-server');
  const directory = temporaryDirectory(scope);
  const port = await freePort();
  const file = join(directory, 'sentinel.conf');
  await writeFile(
    file,
    [
      ...address(port, made),
      ...(made === null ? [] : ['tls-replication yes']),
      `dir ${directory}`,
      'requirepass password-of-the-sentinels',
      'sentinel sentinel-pass password-of-the-sentinels',
      `sentinel monitor edge 127.0.0.1 ${masterPort} 2`,
      'sentinel auth-pass edge password-of-the-tests',
      'sentinel down-after-milliseconds edge 1500',
      'sentinel failover-timeout edge 1500',
      '',
    ].join('\n'),
  );
  await startServer(
    'the sentinel',
    () => Program.run(scope, command, [file, '--sentinel']),
    ({ output }) => output.includes('Sentinel ID is'),
  );
  const client = clientWords(port, made, ['-a', 'password-of-the-sentinels']);
  const ask = async (...words: readonly string[]): Promise<string> =>
    (await run(join(dirname(command), 'redis-cli'), [...client, ...words])).stdout.trim();
  return Object.assign(ask, { port });
}

/** Starts a cluster of three nodes without a password. */
export async function startRedisCluster(scope: Scope): Promise<readonly RedisServer[]> {
  const nodes = await Promise.all(
    [1, 2, 3].map(async () =>
      startRedis(scope, 'none', [
        'cluster-enabled yes',
        `cluster-port ${await freePort()}`,
        'cluster-node-timeout 15000',
      ]),
    ),
  );
  await nodes[0]?.cli('--cluster', 'create', ...nodes.map(({ port }) => `127.0.0.1:${port}`), '--cluster-yes');
  await until('the cluster', async () =>
    (await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'INFO')))).every(
      (text) => text.includes('cluster_state:ok') && text.includes('cluster_known_nodes:3'),
    ),
  );
  // What is published goes to the others by these links, and is lost where one is not there yet: one there and one back
  // to each.
  await until('the links of the cluster', async () =>
    (await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'LINKS')))).every(
      (text) => text.split('direction').length - 1 === 2 * (nodes.length - 1),
    ),
  );
  return nodes;
}

/** How redis-cli comes to a server, and as whom. */
function clientWords(port: number, made: Certificates | null, login: readonly string[]): string[] {
  const tls = made === null ? [] : ['--tls', '--cacert', made.ca];
  return [...tls, '-h', '127.0.0.1', '-p', String(port), ...login, '--no-auth-warning'];
}

function address(port: number, made: Certificates | null): string[] {
  const tls =
    made === null
      ? [`port ${port}`]
      : [
          'port 0',
          `tls-port ${port}`,
          `tls-cert-file ${made.server}`,
          `tls-key-file ${made.serverKey}`,
          `tls-ca-cert-file ${made.ca}`,
          'tls-auth-clients no',
        ];
  return ['bind 127.0.0.1', 'daemonize no', ...tls];
}

/** What redis-cli prints for each message: four lines. */
function parsed(output: string): { channel: string; text: string }[] {
  const lines = output.slice(0, output.lastIndexOf('\n') + 1).split('\n');
  return lines.flatMap((line, index) =>
    line === 'pmessage' && lines[index + 4] !== undefined
      ? [{ channel: lines[index + 2] ?? '', text: lines[index + 3] ?? '' }]
      : [],
  );
}
