/** Pairs of connected streams for tests: TCP sockets, HTTP/2 streams. */
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { listening } from './listening.ts';
import type { Scope } from '../scope.ts';

/** Two ends of one connection. Ours is the one that the code under test gets. */
export interface Pair {
  readonly ours: Duplex;
  readonly theirs: Duplex;
}

/** What was read of a stream until it was over. */
export interface Rest {
  readonly bytes: Buffer;
  /** It ended as one that has said all; false: it was cut. */
  readonly isWhole: boolean;
}

/** A TCP connection over loopback, half-open on both sides. */
export async function tcpPair(scope: Scope): Promise<Pair & { readonly ours: Socket; readonly theirs: Socket }> {
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  const port = await listening(scope, server);
  const arrived = once(server, 'connection') as Promise<[Socket]>;
  const theirs = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  theirs.on('error', () => {});
  const [ours] = await arrived;
  scope.teardown(() => {
    ours.destroy();
    theirs.destroy();
  });
  return { ours, theirs };
}

/** A CONNECT stream of HTTP/2: ours is the client's, as at the admin. */
export async function http2Pair(scope: Scope): Promise<Pair & { readonly session: { destroy(): void } }> {
  const server = createHttp2Server();
  const session = connectHttp2(`http://127.0.0.1:${await listening(scope, server)}`);
  session.on('error', () => {});
  const arrived = once(server, 'stream') as Promise<[ServerHttp2Stream]>;
  const ours = session.request({ ':method': 'CONNECT', ':authority': 'target:1' }, { endStream: false });
  ours.on('error', () => {});
  const [theirs] = await arrived;
  theirs.on('error', () => {});
  theirs.respond({ ':status': 200 });
  await once(ours, 'response');
  scope.teardown(() => session.destroy());
  return { ours, theirs, session };
}

/** Reads to the end or the cut. */
export function rest(stream: Duplex): Promise<Rest> {
  const chunks: Buffer[] = [];
  let isWhole = false;
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.once('end', () => {
    isWhole = !('rstCode' in stream) || (stream.rstCode ?? 0) === 0;
  });
  return new Promise((resolve) => {
    const over = (): void => resolve({ bytes: Buffer.concat(chunks), isWhole });
    stream.once('end', over);
    stream.once('close', over);
  });
}
