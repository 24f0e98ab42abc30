/** Servers of a test's own. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Scope } from '../scope.ts';

/**
 * Has it listen until the scope ends, with all of its connections; on a free port of loopback unless told otherwise.
 * What a connection fails with is nobody's.
 */
export async function listening(scope: Scope, server: Server, address = '127.0.0.1', port = 0): Promise<number> {
  await kept(scope, server, () => server.listen(port, address));
  return (server.address() as AddressInfo).port;
}

/** The same on a UNIX socket. */
export async function listeningAt(scope: Scope, server: Server, path: string): Promise<void> {
  await kept(scope, server, () => server.listen(path));
}

async function kept(scope: Scope, server: Server, listen: () => void): Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
  });
  listen();
  await once(server, 'listening');
  scope.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
}

/** Starts a web server: its origin. It ends no idle connection: a client of a busy machine may be about to use it. */
export async function origin(
  scope: Scope,
  listener: (...args: Parameters<RequestListener>) => unknown,
  address = '127.0.0.1',
): Promise<string> {
  const server = createHttpServer({ keepAliveTimeout: 0 }, (...request) => void listener(...request));
  return `http://${address}:${await listening(scope, server, address)}`;
}

/** Starts a TCP server that gives `serve` each connection, half-open; `sockets` are those of now. */
export async function openTarget(
  scope: Scope,
  serve: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly server: Server; readonly sockets: ReadonlySet<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)));
    serve(socket);
  });
  return { port: await listening(scope, server), server, sockets };
}

/** The same: its port. */
export async function target(scope: Scope, serve: (socket: Socket) => void): Promise<number> {
  return (await openTarget(scope, serve)).port;
}

/** A target that sends back what comes. */
export function echo(scope: Scope): Promise<number> {
  return target(scope, (socket) => socket.pipe(socket));
}

/** A target that answers with the hash of all that it was sent, when it was sent all. */
export function hashing(scope: Scope): Promise<number> {
  return target(scope, (socket) => {
    const hash = createHash('sha256');
    socket.on('data', (bytes) => hash.update(bytes)).on('end', () => socket.end(hash.digest('hex')));
  });
}

/** The hash of bytes, in hexadecimal digits. */
export function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A port that is taken. */
export function takenPort(scope: Scope): Promise<number> {
  return listening(scope, createServer());
}

/** Starts a server that takes connections and says nothing. */
export function silentPort(scope: Scope): Promise<number> {
  return listening(
    scope,
    createServer((socket) => socket.resume()),
  );
}

/**
 * Writes the same again and again, as fast as it is taken, until the stream is gone; `wrote` hears how much it took.
 */
export function pour(stream: Writable, piece: string | Buffer, wrote: (bytes: number) => void = () => {}): void {
  const more = (): void => {
    while (!stream.destroyed && stream.write(piece)) wrote(piece.length);
  };
  stream.on('error', () => {}).on('drain', more);
  more();
}
