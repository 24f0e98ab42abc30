/**
 * A bound on the requests of one connection that have no answer yet. Node reads all that stand in one piece, some
 * 1,700, and calls for each, or answers it itself, before it does anything else: a hundred connections held a program
 * up for seconds.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that wait for their answers; with one more it is cut. Browsers and `fetch` send one. */
export const PIPELINED_REQUESTS_MAX = 16;

/** What the parser is told so that it reads no further. Source: llhttp, `on_headers_complete`. */
const READ_NO_FURTHER = 2;

/** What of Node's parser is used, which no documentation names. Source: `lib/_http_server.js`. */
interface Parser {
  onIncoming?: ((this: Parser, request: IncomingMessage & { upgrade?: boolean }, keepsAlive: boolean) => number) | null;
}

/** Where a server hands requests over otherwise than most do. */
export interface PipeliningOptions {
  /** Events by which requests come. Default: `request`. */
  readonly events?: readonly string[];
  /** What becomes of the connection, of which nothing is read any more. Default: it is cut. */
  readonly refuse?: (socket: Socket) => void;
}

/** Holds for every connection from now on, with TLS or without. Returns the server. */
export function boundPipelining<S extends Server>(
  server: S,
  { events = ['request'], refuse = (socket) => socket.destroy() }: PipeliningOptions = {},
): S {
  const waiting = new WeakMap<Socket, number>();
  const onConnection = (socket: Socket & { readonly parser?: Parser | null }): void => {
    const { parser } = socket;
    const onIncoming = parser?.onIncoming;
    if (parser === undefined || parser === null || typeof onIncoming !== 'function') return;
    let inTurn = 0; // those that Node answers itself are handed over to nobody, and count all the same
    parser.onIncoming = function (request, shouldKeepAlive) {
      if (inTurn === 0)
        setImmediate(() => {
          inTurn = 0;
        });
      inTurn += 1;
      if (Math.max(waiting.get(socket) ?? 0, inTurn - 1) < PIPELINED_REQUESTS_MAX)
        return onIncoming.call(this, request, shouldKeepAlive);
      request.upgrade = false; // else it would be handed over as one
      refuse(socket);
      return READ_NO_FURTHER; // what stands behind it is not even made into requests
    };
  };
  server.on('connection', onConnection).on('secureConnection', onConnection);
  for (const event of events)
    server.prependListener(event, ({ socket }: IncomingMessage, response: ServerResponse) => {
      waiting.set(socket, (waiting.get(socket) ?? 0) + 1);
      response.once('close', () => {
        waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      });
    });
  return server;
}
