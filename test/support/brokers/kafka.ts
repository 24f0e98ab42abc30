/** A real Apache Kafka for tests, and kcat as the independent client that reads what arrives there. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Admin } from '@platformatic/kafka';
import { TOPICS } from '../../../actors/event-topics.ts';
import { certificates, type Certificates } from '../net/certificates.ts';
import { freePort } from '../net/free-ports.ts';
import { Program } from '../fleet/program.ts';
import { peerPath } from '../run/peers.ts';
import { startServer, type Restartable } from '../restartable.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const run = promisify(execFile);

/** Partitions of every topic. */
export const KAFKA_PARTITIONS = 3;

/** The user of the listeners with SASL, by every mechanism. */
export const KAFKA_LOGIN = { username: 'edge', password: 'the-password-of-edge' } as const;

/** Small and quick to start rather than fast for long. */
const JAVA_OPTIONS = [
  '-Xms128m',
  '-Xmx512m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
];

/** Listeners of the server by name. */
const LISTENERS = ['PLAINTEXT', 'SASL_PLAINTEXT', 'SSL', 'SASL_SSL'] as const;

/** One of them. */
export type KafkaListener = (typeof LISTENERS)[number];

const LOGIN = { EVENT_BROKER_KAFKA_USERNAME: KAFKA_LOGIN.username, EVENT_BROKER_KAFKA_PASSWORD: KAFKA_LOGIN.password };

/** Every way of signing in, with TLS and without. */
export const KAFKA_MODES: readonly {
  readonly name: string;
  readonly listener: KafkaListener;
  readonly env: Readonly<Record<string, string>>;
}[] = [
  { name: 'nothing', listener: 'PLAINTEXT', env: {} },
  { name: 'TLS', listener: 'SSL', env: { EVENT_BROKER_KAFKA_SSL: 'true' } },
  ...(['plain', 'scram_sha_256', 'scram_sha_512'] as const).flatMap((mechanism) => [
    {
      name: mechanism,
      listener: 'SASL_PLAINTEXT' as const,
      env: { ...LOGIN, EVENT_BROKER_KAFKA_SASL_MECHANISM: mechanism },
    },
    {
      name: `${mechanism} and TLS`,
      listener: 'SASL_SSL' as const,
      env: { ...LOGIN, EVENT_BROKER_KAFKA_SASL_MECHANISM: mechanism, EVENT_BROKER_KAFKA_SSL: 'true' },
    },
  ]),
];

/** A server of one node. The plain listener takes everybody. */
export interface KafkaServer extends Restartable {
  readonly certificates: Certificates;
  /** host:port of a listener. */
  at(listener: KafkaListener): string;
  /** `messageBytesMax` is the largest request for one partition of them; unset: the server's own, 1 MiB. */
  createTopics(topics: readonly string[], messageBytesMax?: number): Promise<void>;
  deleteTopics(topics: readonly string[]): Promise<void>;
}

/** One message as kcat got it. */
export interface KafkaMessage {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly headers: string;
  readonly text: string;
}

/**
 * Starts a server in KRaft mode with all listeners and the five topics, which creates no others and hangs up on clients
 * that are quiet for 4 s, on ports and a directory of its own; it ends with the scope.
 */
export async function startKafka(scope: Scope): Promise<KafkaServer> {
  const classPath = join(await peerPath('kafka'), '*');
  const directory = temporaryDirectory(scope);
  const ports = Object.fromEntries(
    await Promise.all([...LISTENERS, 'CONTROLLER'].map(async (name) => [name, await freePort()] as const)),
  );
  const pems = await certificates(directory);
  const file = join(directory, 'server.properties');
  await writeFile(file, await configuration(directory, ports, pems));
  const scram = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${KAFKA_LOGIN.username},password=${KAFKA_LOGIN.password}]`,
  ]);
  await run('java', [
    ...JAVA_OPTIONS,
    '-cp',
    classPath,
    'kafka.tools.StorageTool',
    'format',
    '--cluster-id',
    'MkU3OEVBNTcwNTJENDM2Qg',
    '--config',
    file,
    ...scram,
  ]);

  const at = (listener: KafkaListener) => `127.0.0.1:${ports[listener]}`;
  const server: KafkaServer = {
    certificates: pems,
    at,
    ...(await startServer(
      'Kafka to answer',
      () => Program.run(scope, 'java', [...JAVA_OPTIONS, '-cp', classPath, 'kafka.Kafka', file]),
      async () => {
        const { stdout } = await run('kcat', ['-b', at('PLAINTEXT'), '-L', '-m', '2'], { timeout: 5_000 });
        return stdout.includes('broker 1 at');
      },
      60_000,
    )),
    createTopics: (topics, messageBytesMax) =>
      administer(server, async (admin) => {
        await admin.createTopics({
          topics: [...topics],
          partitions: KAFKA_PARTITIONS,
          replicas: 1,
          configs: messageBytesMax === undefined ? [] : [{ name: 'max.message.bytes', value: String(messageBytesMax) }],
        });
        // They are there before anybody leads them, and until then the server refuses what is sent to them.
        await until('leaders of the topics', async () => {
          const found = await admin.metadata({ topics: [...topics], forceUpdate: true });
          return topics.every(
            (topic) =>
              (found.topics.get(topic)?.partitions ?? []).filter(({ leader }) => leader >= 0).length ===
              KAFKA_PARTITIONS,
          );
        });
      }),
    deleteTopics: (topics) => administer(server, (admin) => admin.deleteTopics({ topics: [...topics] })),
  };
  await server.createTopics(TOPICS);
  return server;
}

async function administer(server: KafkaServer, task: (admin: Admin) => Promise<unknown>): Promise<void> {
  const admin = new Admin({ clientId: 'tests', bootstrapBrokers: [server.at('PLAINTEXT')] });
  await task(admin);
  await admin.close();
}

async function configuration(
  directory: string,
  ports: Readonly<Record<string, number>>,
  pems: Certificates,
): Promise<string> {
  const addresses = LISTENERS.map((name) => `${name}://127.0.0.1:${ports[name]}`).join(',');
  const jaas = (login: string, options: string) => `org.apache.kafka.common.security.${login} required ${options};`;
  const pem = async (path: string) => (await readFile(path, 'utf8')).trim().replaceAll('\n', ' ');
  const signIn = ['sasl_plaintext', 'sasl_ssl'].flatMap((listener) => [
    `listener.name.${listener}.plain.sasl.jaas.config=${jaas('plain.PlainLoginModule', `user_${KAFKA_LOGIN.username}="${KAFKA_LOGIN.password}"`)}`,
    `listener.name.${listener}.scram-sha-256.sasl.jaas.config=${jaas('scram.ScramLoginModule', '')}`,
    `listener.name.${listener}.scram-sha-512.sasl.jaas.config=${jaas('scram.ScramLoginModule', '')}`,
  ]);
  return `${[
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@127.0.0.1:${ports['CONTROLLER']}`,
    'controller.listener.names=CONTROLLER',
    `listeners=${addresses},CONTROLLER://127.0.0.1:${ports['CONTROLLER']}`,
    `advertised.listeners=${addresses}`,
    `listener.security.protocol.map=CONTROLLER:PLAINTEXT,${LISTENERS.map((name) => `${name}:${name}`).join(',')}`,
    'inter.broker.listener.name=PLAINTEXT',
    'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    ...signIn,
    'ssl.keystore.type=PEM',
    `ssl.keystore.certificate.chain=${await pem(pems.server)}`,
    `ssl.keystore.key=${await pem(pems.serverKey)}`,
    `log.dirs=${join(directory, 'data')}`,
    'offsets.topic.replication.factor=1',
    'transaction.state.log.replication.factor=1',
    'auto.create.topics.enable=false',
    'connections.max.idle.ms=4000',
    'broker.heartbeat.interval.ms=500', // so that one that was killed may soon come back
    'broker.session.timeout.ms=3000',
    `num.partitions=${KAFKA_PARTITIONS}`,
  ].join('\n')}\n`;
}

/** Everything in a topic, each partition in its order; waits until there are `count` messages. */
export async function takeKafka(bootstrap: string, topic: string, count: number): Promise<readonly KafkaMessage[]> {
  return until(`${count} messages in ${topic}`, async () => {
    const words = ['-b', bootstrap, '-C', '-t', topic, '-o', 'beginning', '-e', '-q', '-f', '%p\t%k\t%h\t%s\n'];
    const { stdout } = await run('kcat', words, { timeout: 20_000, maxBuffer: 256 * 1024 * 1024 });
    const messages = stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const [partition = '', key = '', headers = '', ...text] = line.split('\t');
        return { topic, partition: Number(partition), key, headers, text: text.join('\t') };
      });
    return messages.length >= count && messages;
  });
}

/**
 * Starts librdkafka's mock of a cluster of three, without sign-in or TLS, which creates the topics that are asked for.
 * It ends with the scope.
 */
export async function startMockKafka(scope: Scope): Promise<{ readonly brokers: string }> {
  const program = Program.run(scope, 'kcat', [
    '-X',
    'test.mock.num.brokers=3',
    '-b',
    'replaced',
    '-C',
    '-t',
    'keeps-it-running',
    '-u',
  ]);
  const found = await until('the mock cluster to be up', () =>
    /bootstrap\.servers and security\.protocol ignored and replaced with (?<brokers>\S+)/u.exec(program.output),
  );
  return { brokers: found.groups?.['brokers'] ?? '' };
}
