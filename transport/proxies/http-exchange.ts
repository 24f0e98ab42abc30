/** One request to the HTTP proxy with its answer, as long as Node's server has both. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { reset } from '../net/streams/reset.ts';
import type { ClientConnections } from './client-connections.ts';
import { answerHeaders, rawAnswer, reasonOf, type Answer } from './http-answers.ts';
import { values } from './http-requests.ts';

/** One request and its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Answers by the proxy itself. A body that nobody will read ends the connection. */
export function answer({ request, response }: Exchange, said: Answer, clients: ClientConnections): void {
  if (response.headersSent || response.destroyed) return reset(request.socket);
  if (!hasBody(request)) {
    response.writeHead(said.status, reasonOf(said.status), answerHeaders(said)).end(`${said.message}\n`);
    return undefined;
  }
  request.resume();
  return clients.dismiss(request.socket, rawAnswer(said));
}

function hasBody(request: IncomingMessage): boolean {
  return (
    values(request, 'transfer-encoding').length > 0 ||
    values(request, 'content-length').some((length) => length !== '0')
  );
}
