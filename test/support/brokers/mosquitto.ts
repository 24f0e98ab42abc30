/** A real MQTT server for tests, and an independent client that reads what arrives there. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../net/free-ports.ts';
import { Program } from '../fleet/program.ts';
import { peerPath } from '../run/peers.ts';
import { startServer, type Restartable } from '../restartable.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const run = promisify(execFile);

/** How a server is set up. */
export interface MosquittoOptions {
  /** Who may connect; everybody unless given. */
  readonly login?: { readonly username: string; readonly password: string };
  readonly isWebSocket?: boolean;
  /** PEM files: the server's own, and, with `clientCa`, whose certificates clients must show. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
}

/** A server. A second listener, for the consumer, is plain and takes everybody. */
export interface Mosquitto extends Restartable {
  readonly port: number;
  readonly consumerPort: number;
}

/** One message as the consumer got it. */
export interface MqttMessage {
  readonly topic: string;
  readonly qos: number;
  readonly isRetained: boolean;
  readonly payload: string;
}

/**
 * A server that does not listen after this time, in ms, has lost a port that was free to somebody else, and says
 * nothing of it. Others are tried then.
 */
const LISTENING_MS_MAX = 10_000;
const PORTS_TRIED_MAX = 3;

/** Starts a server on ports and a directory of its own; it ends with the scope. */
export async function startMosquitto(scope: Scope, options: MosquittoOptions = {}): Promise<Mosquitto> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startOnPorts(scope, options);
    } catch (error) {
      if (tries === PORTS_TRIED_MAX) throw error;
    }
  }
}

async function startOnPorts(scope: Scope, options: MosquittoOptions): Promise<Mosquitto> {
  const command = await peerPath('mosquitto');
  const directory = temporaryDirectory(scope);
  const [port, consumerPort] = [await freePort(), await freePort()];
  const file = join(directory, 'mosquitto.conf');
  await writeFile(file, await configuration(directory, port, consumerPort, options));
  const server = await startServer(
    'mosquitto',
    () => Program.run(scope, command, ['-c', file]),
    async () => (await Promise.all([port, consumerPort].map(isOpen))).every(Boolean),
    LISTENING_MS_MAX,
  );
  return { port, consumerPort, ...server };
}

async function configuration(
  directory: string,
  port: number,
  consumerPort: number,
  { login, isWebSocket, tls }: MosquittoOptions,
): Promise<string> {
  const lines = [
    'user root',
    'per_listener_settings true',
    'max_queued_messages 100000',
    'persistence true',
    `persistence_location ${directory}/`,
    'log_dest stderr',
  ];
  lines.push(
    `listener ${consumerPort} 127.0.0.1`,
    'allow_anonymous true',
    `listener ${port} 127.0.0.1`,
    `allow_anonymous ${login === undefined}`,
  );
  if (isWebSocket) lines.push('protocol websockets');
  if (login) {
    const passwords = join(directory, 'passwords');
    await writeFile(passwords, '', { mode: 0o600 });
    await run(join(dirname(await peerPath('mosquitto')), '..', 'bin', 'mosquitto_passwd'), [
      '-b',
      passwords,
      login.username,
      login.password,
    ]);
    lines.push(`password_file ${passwords}`);
  }
  if (tls)
    lines.push(
      `certfile ${tls.cert}`,
      `keyfile ${tls.key}`,
      ...(tls.clientCa === undefined ? [] : [`cafile ${tls.clientCa}`, 'require_certificate true']),
    );
  return `${lines.join('\n')}\n`;
}

async function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false))
      .once('connect', () => socket.destroy());
  });
}

/**
 * Reads all events with `mosquitto_sub`, which keeps its session: it misses nothing while the server is away.
 * `messages()` are those so far.
 */
export async function consumeMqtt(scope: Scope, server: Mosquitto): Promise<{ messages(): MqttMessage[] }> {
  const command = await peerPath('mosquitto_sub');
  const program = Program.run(scope, 'stdbuf', [
    '-oL',
    command,
    '-h',
    '127.0.0.1',
    '-p',
    String(server.consumerPort),
    '-V',
    'mqttv311',
    '-i',
    'tests',
    '-c',
    '-d',
    '-q',
    '2',
    '-t',
    'edge/#',
    '-F',
    'message\t%t\t%q\t%r\t%p',
  ]);
  await until('mosquitto_sub to be subscribed', () => program.output.includes('Subscribed (mid'));
  return {
    messages: () =>
      program.output
        .slice(0, program.output.lastIndexOf('\n') + 1)
        .split('\n')
        .filter((line) => line.startsWith('message\t'))
        .map((line) => {
          const [, topic = '', qos = '', retained = '', payload = ''] = line.split('\t');
          return { topic, qos: Number(qos), isRetained: retained === '1', payload };
        }),
  };
}
