/** An HTTP balancer: each request goes to the next of its servers, on whichever connection it comes. */
import { createServer, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { listening } from './listening.ts';
import type { Scope } from '../scope.ts';

/** Stands before some servers. */
export interface RequestBalancer {
  readonly url: string;
  /** The next request goes to the server at this place. */
  turnTo(place: number): void;
}

/** Opens one before these that ends with the scope. */
export async function openRequestBalancer(scope: Scope, urls: readonly string[]): Promise<RequestBalancer> {
  let turn = 0;
  const next = (): URL => {
    const url = urls[turn % urls.length] ?? '';
    turn += 1;
    return new URL(url);
  };
  const server = createServer((near, answer) => {
    const { method, headers } = near;
    const far = request(new URL(near.url ?? '/', next()), { method, headers, agent: false }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    far.on('error', () => answer.destroy());
    answer.on('close', () => far.destroy());
    near.pipe(far);
  });
  server.on('upgrade', (asked: IncomingMessage, near, head: Buffer) => {
    const { port, hostname } = next();
    const far = connect(Number(port), hostname);
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    const lines = asked.rawHeaders.flatMap((name, place, all) =>
      place % 2 === 0 ? [`${name}: ${all[place + 1]}`] : [],
    );
    far.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    far.write(head);
    near.pipe(far).pipe(near);
  });
  return { url: `http://127.0.0.1:${await listening(scope, server)}`, turnTo: (place) => void (turn = place) };
}
