/** A gateway before one server that fails to reach it for a moment. */
import { createServer, request as ask, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { listening } from './listening.ts';
import type { Scope } from '../scope.ts';

/** Stands before one server. */
export interface FailingGateway {
  readonly url: string;
  /** Calls that it failed. */
  readonly failed: () => number;
}

/** Opens one that ends with the scope. It answers the first call of this operation with a page of its own and 503. */
export async function openFailingGateway(scope: Scope, server: string, operation: string): Promise<FailingGateway> {
  let failed = 0;
  const gateway = createServer((near, answer) => {
    if (failed === 0 && near.url?.includes(`/${operation}`) === true) {
      failed += 1;
      near.resume();
      answer.writeHead(503, { 'content-type': 'text/html' }).end('<html>no healthy upstream</html>');
      return;
    }
    const { method, headers } = near;
    const far = ask(new URL(near.url ?? '', server), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    far.on('error', () => answer.destroy());
    near.pipe(far);
  });
  gateway.on('upgrade', (near: IncomingMessage) => {
    const { hostname, port } = new URL(server);
    const far = connect(Number(port), hostname);
    far.on('error', () => near.socket.destroy()).on('close', () => near.socket.destroy());
    near.socket.on('error', () => far.destroy()).on('close', () => far.destroy());
    const lines = near.rawHeaders.map((word, place) => (place % 2 === 0 ? `${word}: ` : `${word}\r\n`));
    far.write(`GET ${near.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
    near.socket.pipe(far).pipe(near.socket);
  });
  return { url: `http://127.0.0.1:${await listening(scope, gateway)}`, failed: () => failed };
}
