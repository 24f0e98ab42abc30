/** One of the agent's HTTP servers in a test, and raw connections to it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import {
  startWebServer,
  type WebRoute,
  type WebServer,
  type WebServerOptions,
} from '../../../agent/observability/web-server.ts';

/** Type of an answer. */
export const TEXT = 'text/plain; charset=utf-8';
/** The key of the server. */
export const KEY = 'the-key';

/** A path for everybody. */
export const OPEN: WebRoute = { isProtected: false, answer: async () => ({ type: TEXT, body: 'open' }) };
const PROTECTED: WebRoute = { isProtected: true, answer: async () => ({ type: TEXT, body: 'secret' }) };

/** A running server. */
export interface Fixture {
  readonly server: WebServer;
  readonly url: string;
  readonly log: unknown[][];
}

/** A server that ends with the test. */
export async function serve(t: ExecutionContext, options: Partial<WebServerOptions> = {}): Promise<Fixture> {
  const log: unknown[][] = [];
  const note = (...words: unknown[]) => {
    log.push(words);
  };
  const server = await startWebServer({
    name: 'api',
    hosts: ['127.0.0.1'],
    port: 0,
    orAnother: false,
    setting: 'AGENT_API_PORT',
    key: KEY,
    routes: { '/open': OPEN, '/secret': PROTECTED },
    log: { debug: note, info: note, warn: note, error: note },
    ...options,
  });
  t.teardown(() => server.close());
  return { server, url: `http://127.0.0.1:${server.port}`, log };
}

/** A connection on which a test writes what it wants. */
export async function raw(
  t: ExecutionContext,
  { server }: Fixture,
): Promise<{ socket: Socket; closed: Promise<string> }> {
  const socket = connect(server.port ?? 0, '127.0.0.1');
  t.teardown(() => void socket.destroy());
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece)).on('error', () => {});
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(Buffer.concat(pieces).toString()));
  });
  await once(socket, 'connect');
  return { socket, closed };
}

/** Status and body of an answer. */
export async function statusOf(url: string, init: RequestInit = {}): Promise<[number, string]> {
  const answer = await fetch(url, init);
  return [answer.status, await answer.text()];
}
