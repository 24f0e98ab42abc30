/** A real RabbitMQ for tests, and an independent client that reads what arrives there. */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { connect, type Channel, type ConsumeMessage } from 'amqplib';
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
 * Where Debian keeps the scripts themselves: those on the path change to a user of their own, whose directories are not
 * a test's.
 */
const DEBIAN_SCRIPTS = '/usr/lib/rabbitmq/bin';

/** The virtual host of the tests, with a character that has a meaning in URLs. */
const VHOST = 'edge/tests';

/**
 * Users by name: `edge` may do all, `writer` may only publish to the exchange, and `nobody` may do nothing. The
 * password has characters that have a meaning in URLs.
 */
const PERMISSIONS = {
  edge: { configure: '.*', write: '.*', read: '.*' },
  writer: { configure: '^$', write: String.raw`^edge\.events$`, read: '^$' },
  nobody: { configure: '^$', write: '^$', read: '^$' },
} as const;

/** A user of the server. */
export type RabbitUser = keyof typeof PERMISSIONS;

/** The password of every user. */
export const RABBIT_PASSWORD = 'p@ss/w%rd:1';

/** A server with a plain listener and one with TLS. */
export interface RabbitServer extends Restartable {
  readonly port: number;
  readonly certificates: Certificates;
  /** URL of the plain listener, or of the one with TLS. */
  url(options?: {
    readonly user?: RabbitUser;
    readonly password?: string;
    readonly isTls?: boolean;
    readonly host?: string;
  }): string;
  /** Runs rabbitmqctl. */
  control(...args: readonly string[]): Promise<string>;
}

/**
 * Starts a server with a name, ports and a directory of its own, and its own epmd, which names Erlang's nodes; both end
 * with the scope.
 */
export async function startRabbit(scope: Scope): Promise<RabbitServer> {
  const directory = temporaryDirectory(scope);
  const scripts = existsSync(DEBIAN_SCRIPTS) ? DEBIAN_SCRIPTS : dirname(await peerPath('rabbitmq-server'));
  const [port, tlsPort, distributionPort, epmdPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const pems = await certificates(directory);
  await writeFile(join(directory, 'rabbitmq.conf'), configuration(directory, port, tlsPort, pems));
  await writeFile(join(directory, 'definitions.json'), JSON.stringify(definitions()));
  await writeFile(join(directory, 'plugins'), '[].\n');
  await writeFile(join(directory, 'env.conf'), '');
  const env = {
    HOME: directory, // of the cookie
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODENAME: `edge-test-${port}@localhost`,
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_MNESIA_BASE: join(directory, 'data'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'plugins'),
    RABBITMQ_CONF_ENV_FILE: join(directory, 'env.conf'),
    RUNNING_UNDER_SYSTEMD: 'true', // the script becomes the server, instead of staying above it
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+sbwt none +S 2:2',
  };
  Program.run(scope, 'epmd', ['-port', String(epmdPort), '-address', '127.0.0.1'], env);

  return {
    port,
    certificates: pems,
    url: ({ user = 'edge', password = RABBIT_PASSWORD, isTls = false, host = '127.0.0.1' } = {}) =>
      `${isTls ? 'amqps' : 'amqp'}://${user}:${encodeURIComponent(password)}@${host}:${isTls ? tlsPort : port}/${encodeURIComponent(VHOST)}`,
    control: async (...args) =>
      (
        await run(join(scripts, 'rabbitmqctl'), ['--node', env.RABBITMQ_NODENAME, ...args], {
          env: { ...process.env, ...env },
        })
      ).stdout,
    ...(await startServer(
      'RabbitMQ to be started',
      () => Program.run(scope, join(scripts, 'rabbitmq-server'), [], env),
      ({ output }) => output.includes('completed with'),
      60_000,
    )),
  };
}

function configuration(directory: string, port: number, tlsPort: number, pems: Certificates): string {
  return `${[
    `listeners.tcp.default = 127.0.0.1:${port}`,
    `listeners.ssl.default = 127.0.0.1:${tlsPort}`,
    `ssl_options.cacertfile = ${pems.ca}`,
    `ssl_options.certfile = ${pems.server}`,
    `ssl_options.keyfile = ${pems.serverKey}`,
    `load_definitions = ${join(directory, 'definitions.json')}`,
    'log.console = true',
    'log.console.level = warning',
    'log.file = false',
    'disk_free_limit.absolute = 1MB',
  ].join('\n')}\n`;
}

/**
 * What exists from the start. Hash of a password: salt and SHA-256 of salt and password. Source:
 * https://www.rabbitmq.com/docs/passwords.
 */
function definitions(): Record<string, unknown> {
  const salt = randomBytes(4);
  const hash = Buffer.concat([
    salt,
    createHash('sha256')
      .update(Buffer.concat([salt, Buffer.from(RABBIT_PASSWORD)]))
      .digest(),
  ]).toString('base64');
  const names = Object.keys(PERMISSIONS) as RabbitUser[];
  return {
    vhosts: [{ name: VHOST }],
    users: names.map((name) => ({
      name,
      password_hash: hash,
      hashing_algorithm: 'rabbit_password_hashing_sha256',
      tags: '',
    })),
    permissions: names.map((user) => ({ user, vhost: VHOST, ...PERMISSIONS[user] })),
  };
}

/** Binds a durable queue to all events, or to those of a pattern. What was in it before stays. */
export async function bindQueue(url: string, queue: string, pattern = '#'): Promise<void> {
  await withChannel(url, async (channel) => {
    await channel.assertExchange('edge.events', 'topic', { durable: true });
    await channel.assertQueue(queue, { durable: true });
    await channel.bindQueue(queue, 'edge.events', pattern);
  });
}

/**
 * Takes this many messages out of a queue, in order, and looks that there is none besides. Rejects when they are not
 * there in time.
 */
export async function takeMessages(url: string, queue: string, count: number): Promise<readonly ConsumeMessage[]> {
  return withChannel(url, async (channel) => {
    const messages: ConsumeMessage[] = [];
    await channel.consume(
      queue,
      (message) => {
        if (message) messages.push(message);
      },
      { noAck: true },
    );
    await until(`${count} messages in the queue ${queue}`, () => messages.length >= count);
    await channel.checkQueue(queue); // answered after what was in the queue
    return messages;
  });
}

/** Takes the messages out of a queue as they come. Those so far are `texts`. Ends with the scope. */
export async function readQueue(
  scope: Scope,
  url: string,
  queue: string,
): Promise<{ readonly texts: readonly string[] }> {
  const connection = await connect(url);
  let problem: Error | null = null;
  const broken = (error: Error): void => {
    problem ??= error;
  };
  connection.on('error', broken);
  scope.teardown(async () => connection.close().catch(() => {}));
  const texts: string[] = [];
  const channel = await connection.createChannel();
  channel.on('error', broken);
  channel.on('close', () => broken(new Error('the channel of the reader was closed')));
  await channel.consume(
    queue,
    (message) => {
      if (message) texts.push(message.content.toString());
      else broken(new Error('the server ended the reading of the queue'));
    },
    { noAck: true },
  );
  return {
    get texts() {
      if (problem !== null) throw problem; // nothing more will come
      return texts;
    },
  };
}

/** Whether the server itself still brings events of this type to some queue, by one more that is none of ours. */
export async function isRouted(url: string, type: string): Promise<boolean> {
  const connection = await connect(url);
  try {
    const channel = await connection.createConfirmChannel();
    let isReturned = false;
    channel.on('return', () => {
      isReturned = true;
    });
    channel.publish('edge.events', type, Buffer.from('{}'), { mandatory: true });
    await channel.waitForConfirms(); // what is returned comes before
    return !isReturned;
  } finally {
    await connection.close();
  }
}

/** A channel of the independent client, closed afterwards. */
export async function withChannel<T>(url: string, task: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(url);
  connection.on('error', () => {}); // the task is told
  try {
    const channel = await connection.createChannel();
    channel.on('error', () => {});
    return await task(channel);
  } finally {
    await connection.close();
  }
}
