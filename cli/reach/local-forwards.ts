/** Local ports that lead to targets by way of a node. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../problem.ts';
import { dial, KEEP_ALIVE_MS } from './dial.ts';
import type { Proxy } from './proxy.ts';
import { targetText, wayTo, type Forward, type Target } from './stream-targets.ts';

/** Connections of one local port at a time; more are closed at once. */
const CONNECTIONS_MAX = 1_024;

/** One local port that is listened on. */
export interface LocalForward {
  readonly listen: Target;
  readonly target: Target;
}

/** What forwards need to know. */
export interface ForwardOptions {
  readonly proxy: Proxy;
  readonly nodeHost: string;
  /** Told of each connection that could not be made or was cut, in one line. */
  readonly failed: (line: string) => void;
}

/** Running forwards. */
export interface LocalForwards {
  readonly forwards: readonly LocalForward[];
  /** Ends them and all their connections. */
  close(): void;
}

/** Listens for all of them. Rejects with a Problem when one cannot be listened for; none is then. */
export async function startForwards(wanted: readonly Forward[], options: ForwardOptions): Promise<LocalForwards> {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  let isClosed = false;
  const failed = (line: string): void => {
    if (!isClosed) options.failed(line); // what is cut at the end was meant to be
  };
  const close = (): void => {
    isClosed = true;
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
  };
  try {
    const forwards: LocalForward[] = [];
    for (const { listen, target } of wanted) {
      const kept = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }; // another machine may go without a word
      const server = createServer({ allowHalfOpen: true, noDelay: true, ...kept }, (socket) => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
        void serve(socket, target, { ...options, failed });
      });
      server.maxConnections = CONNECTIONS_MAX;
      server.on('drop', () => failed(`${targetText(listen)}: there are ${CONNECTIONS_MAX} connections already`));
      servers.push(server);
      forwards.push({ listen: { host: listen.host, port: await listening(server, listen) }, target });
    }
    return { forwards, close };
  } catch (error) {
    close();
    throw error;
  }
}

async function listening(server: Server, { host, port }: Target): Promise<number> {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === 'EADDRINUSE'
        ? 'another program listens there already: take another port, or 0 for a free one'
        : code === 'EACCES'
          ? 'this user may not listen there: take a port from 1024 on'
          : (code ?? 'unknown error');
    throw new Problem(`cannot listen on ${targetText({ host, port })}: ${reason}`);
  }
  return (server.address() as AddressInfo).port;
}

async function serve(client: Socket, target: Target, { proxy, nodeHost, failed }: ForwardOptions): Promise<void> {
  const gone = new AbortController();
  client.on('error', () => {}).once('close', () => gone.abort());
  let remote: Socket | undefined;
  try {
    remote = await dial(proxy, wayTo(nodeHost, target), gone.signal);
    await Promise.all([pipeline(client, remote), pipeline(remote, client)]);
  } catch (error) {
    // A client that leaves early is no failure.
    const isCut = remote?.errored != null;
    if (!gone.signal.aborted || isCut)
      failed(`${targetText(target)}: ${error instanceof Problem ? error.message : 'the connection was cut'}`);
    client.resetAndDestroy();
    remote?.destroy();
  }
}
