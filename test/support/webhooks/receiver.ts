/**
 * A receiver of webhooks with manners, good and bad. Its own log is the truth for what an admin delivered (V2): nobody
 * kills the process that it is in.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Envelope } from '../../../actors/events.ts';
import { listening, pour } from '../net/listening.ts';
import type { Scope } from '../scope.ts';

/** One request that came, whole. */
export interface Arrival {
  readonly path: string;
  /** Its header `webhook-id`. */
  readonly id: string;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
  /** When its headers came, and when all of it was there, in Unix ms. */
  readonly beganMs: number;
  readonly atMs: number;
  /** The status that was sent, with whole headers; null: none so far. */
  status: number | null;
}

/** What becomes of a request. */
export type Manner = (response: ServerResponse, arrival: Arrival) => unknown;

/** A request that is held: it is in the log, and not answered. */
export interface HeldRequest {
  readonly caught: Promise<Arrival>;
  /** Lets it be answered, and all those after it. */
  release(): void;
}

/** One address of a receiver. */
export interface Endpoint {
  readonly path: string;
  readonly url: string;
  /** What came here, in order. */
  readonly arrivals: readonly Arrival[];
  manner: Manner;
  /** Holds every request from now on until it is released. */
  hold(): HeldRequest;
}

/** A server with as many addresses as are wanted. */
export interface Receiver {
  /** What came, in order. */
  readonly log: readonly Arrival[];
  endpoint(manner?: Manner): Endpoint;
}

/** Starts a receiver that ends with the scope, at an address of this machine. */
export async function openReceiver(scope: Scope, address = '127.0.0.1'): Promise<Receiver> {
  const log: Arrival[] = [];
  const endpoints = new Map<
    string,
    { arrivals: Arrival[]; take: (response: ServerResponse, arrival: Arrival) => void }
  >();
  const server = createServer((request, response) => {
    const beganMs = Date.now();
    request.on('error', () => {}); // cut off in the middle: then it never came
    response.on('error', () => {});
    text(request).then(
      (body) => {
        const path = request.url ?? '';
        const arrival: Arrival = {
          path,
          id: String(request.headers['webhook-id'] ?? ''),
          body,
          headers: request.headers,
          beganMs,
          atMs: Date.now(),
          status: null,
        };
        log.push(arrival);
        const endpoint = endpoints.get(path);
        if (endpoint === undefined) return response.writeHead(404).end();
        endpoint.arrivals.push(arrival);
        return endpoint.take(response, arrival);
      },
      () => {},
    );
  });
  server.keepAliveTimeout = 30_000;
  const origin = `http://${address}:${await listening(scope, server, address)}`;

  return {
    log,
    endpoint(manner = answers(204)) {
      const path = `/hook-${endpoints.size + 1}`;
      const arrivals: Arrival[] = [];
      let gate: { wait: Promise<void>; caught: (arrival: Arrival) => void } | null = null;
      const endpoint: Endpoint = {
        path,
        url: `${origin}${path}`,
        arrivals,
        manner,
        hold() {
          const caught = Promise.withResolvers<Arrival>();
          const open = Promise.withResolvers<void>();
          const mine = { wait: open.promise, caught: caught.resolve };
          gate = mine;
          return {
            caught: caught.promise,
            release() {
              if (gate === mine) gate = null;
              open.resolve();
            },
          };
        },
      };
      endpoints.set(path, {
        arrivals,
        take(response, arrival) {
          gate?.caught(arrival);
          void (gate?.wait ?? Promise.resolve()).then(() => endpoint.manner(response, arrival));
        },
      });
      return endpoint;
    },
  };
}

/** Answers with a status, `afterMs` later, with these headers and this body. */
export function answers(
  status: number,
  {
    afterMs = 0,
    headers = {},
    body = '',
  }: { readonly afterMs?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
): Manner {
  return async (response, arrival) => {
    if (afterMs > 0) await delay(afterMs);
    if (response.destroyed) return;
    arrival.status = status;
    response.writeHead(status, headers).end(body);
  };
}

/** Takes the request and says nothing, for ever. */
export const isSilent: Manner = () => {};

/** Closes the connection without a byte. */
export const hangsUp: Manner = (response) => response.destroy();

/** Sends its status line a byte at a time, one each `everyMs`. */
export function drips(everyMs: number): Manner {
  return async (response) => {
    for (const byte of 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n') {
      if (response.destroyed || response.socket === null) return;
      response.socket.write(byte);
      await delay(everyMs);
    }
  };
}

/** Closes the connection within the status line. */
export const breaksOff: Manner = (response) => response.socket?.end('HTTP/1.1 20');

/** Answers 200 with a body that never ends. */
export const floods: Manner = (response, arrival) => {
  arrival.status = 200;
  pour(response.writeHead(200), Buffer.alloc(65_536, 'x'));
};

/** Now this, now that; `random` from 0 to 1 decides. */
export function isMoody(manners: readonly Manner[], random: () => number = Math.random): Manner {
  return (response, arrival) => manners[Math.floor(random() * manners.length)]?.(response, arrival);
}

/** The envelope that came. */
export function envelopeOf(arrival: Arrival): Envelope {
  return JSON.parse(arrival.body) as Envelope;
}
