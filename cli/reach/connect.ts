/**
 * `edge connect`: a stream to a node on stdin and stdout. Each ssh starts one, so nothing is loaded that is not needed.
 */
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { finished, pipeline } from 'node:stream/promises';
import { askedConnection, connectionFrom, type Connection, type ConnectionFlags } from '../service/connection.ts';
import { tell } from '../output/output.ts';
import { EXIT, Problem, problemOf } from '../problem.ts';
import { dial } from './dial.ts';
import { proxyOf } from './proxy.ts';
import { isHostName, SSH_PORT } from './host-names.ts';
import { targetOf, wayTo } from './stream-targets.ts';

/** What to connect to. */
export interface ConnectOptions {
  /** A node by any of its names. */
  readonly node: string;
  /** `PORT`, or `HOST:PORT` to go through the node. */
  readonly target: string;
  /** SSH_PORT stands for the port of the node's SSH server, wherever that listens. */
  readonly isSsh: boolean;
}

/**
 * Joins stdin and stdout to a stream, each way until its end. Rejects with a Problem when there is no stream, or it is
 * cut.
 */
export async function connect({ node, target: text, isSsh }: ConnectOptions, flags: ConnectionFlags): Promise<void> {
  const connection = connectionFrom(flags, process.env);
  const proxy = await proxyOf(connection, process.env, async () => {
    const [{ createClient }, { toldPortsOf }] = await Promise.all([
      import('../service/client.ts'),
      import('./told-ports.ts'),
    ]);
    return toldPortsOf(createClient(connection));
  });
  const target = targetOf(text);
  const wantsPort = isSsh && text === String(SSH_PORT);
  const dialled = async ({ host, sshPort }: DialledPlace) => ({
    host,
    socket: await dial(proxy, wayTo(host, { ...target, port: sshPort ?? target.port })),
  });
  const asked = async () => dialled(await placeOf(connection, node, wantsPort));
  const { host, socket } =
    isHostName(node) && !wantsPort
      ? await dialled({ host: node, sshPort: null }).catch((error: unknown) => {
          if (isUnknown(error)) return asked(); // what a machine calls itself may look like a host name of the VPN
          throw error;
        })
      : await asked();

  try {
    await Promise.all([pipeline(process.stdin, socket), pipeToStdout(socket)]);
  } catch {
    throw new Problem(`the connection to ${host} was cut`);
  } finally {
    socket.destroy();
    process.stdin.destroy();
  }
}

async function pipeToStdout(socket: Socket): Promise<void> {
  socket.pipe(process.stdout, { end: false });
  await finished(socket, { writable: false });
  await new Promise((resolve) => {
    process.stdout.write('', resolve);
  });
  closeSync(process.stdout.fd); // Node itself never does, and whoever reads would wait for more
}

/** The same for exactly these words, without looking at anything else on the command line. Null: they are others. */
export function plainConnect(words: readonly string[]): (() => Promise<void>) | null {
  const isSsh = words[0] === '--ssh';
  const [node, target, ...more] = isSsh ? words.slice(1) : words;
  if (node === undefined || target === undefined || more.length > 0 || node.startsWith('-') || target.startsWith('-'))
    return null;
  return async () => {
    process.stdout.on('error', () => process.exit(EXIT.ok)); // whoever read it has gone
    try {
      await connect({ node, target, isSsh }, {});
    } catch (error) {
      const { message, status } = problemOf(error, askedConnection({}, process.env));
      tell(message);
      process.exitCode = status;
    }
  };
}

/** Whether the proxy knows no node of the name. */
function isUnknown(error: unknown): boolean {
  return error instanceof Problem && error.status === EXIT.notFound;
}

/** The host name of a node, and the port of its SSH server; null: the one that was given. */
interface DialledPlace {
  readonly host: string;
  readonly sshPort: number | null;
}

/** Where the service says that a node is. */
async function placeOf(connection: Connection, node: string, wantsPort: boolean): Promise<DialledPlace> {
  const { nodePlace } = await import('./places.ts');
  const { createClient } = await import('../service/client.ts');
  try {
    const place = await nodePlace(createClient(connection), node);
    const { host, sshPort } = place;
    if (wantsPort && isHostName(node)) {
      const { keepCalledHostKey } = await import('./host-keys.ts');
      keepCalledHostKey(node, place, process.env);
    }
    return { host, sshPort: wantsPort ? sshPort : null };
  } catch (error) {
    // Whoever has the key of the proxy only may go in, and may not ask: ports are as usual then.
    if (isHostName(node) && problemOf(error, connection).status === EXIT.auth) return { host: node, sshPort: null };
    throw error;
  }
}
