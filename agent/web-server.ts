/** A small HTTP server of the agent: a few paths to GET, open ones and some behind a bearer key. */
import { hash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { listenAt } from '../transport/streams/listen.ts';
import type { Service } from './health.ts';
import type { AgentLog } from './ports.ts';

/** Connections at once; more are closed at once. An admin opens one for each of its few scrapes. */
const CONNECTIONS_MAX = 64;

/** Headers must be there in this time, and an idle connection is closed after it, in ms. */
const HEADERS_MS_MAX = 5_000;
const KEEP_ALIVE_MS = 5_000;

/** An answer must be made and taken in this time, in ms. */
const ANSWER_MS_MAX = 30_000;

/** All headers of a request, in bytes. */
const HEADER_BYTES_MAX = 8_192;

/** How often the server looks for connections that take too long, in ms. */
const LOOK_MS = 1_000;

/** What is answered to a GET. */
export interface WebAnswer {
  readonly type: string;
  readonly body: string;
  /** Default: 200. */
  readonly status?: number;
}

/** One path. Requests that come while an answer is made share it. */
export interface WebRoute {
  /** Whether the bearer key must be shown. */
  readonly isProtected: boolean;
  /** Makes an answer. A rejection is logged and answered with 500. */
  answer(): Promise<WebAnswer>;
}

/** What is served, and where. */
export interface WebServerOptions {
  /** Name of the service in health reports. */
  readonly name: string;
  /** Addresses of this machine; one that it does not have is a problem of the service. */
  readonly hosts: readonly string[];
  readonly port: number;
  /** Nobody chose the port: where it is taken by now, another one will do. */
  readonly orAnother: boolean;
  /** The setting that holds the port, for whoever has to free it. */
  readonly setting: string;
  /** By exact path. */
  readonly routes: Readonly<Record<string, WebRoute>>;
  /** The bearer key of protected paths. */
  readonly key: string;
  readonly log: AgentLog;
}

/** A running server, or what is left of it. */
export interface WebServer {
  /** Null: it does not listen. */
  readonly port: number | null;
  readonly service: Service;
  /** Cuts what is open. */
  close(): void;
}

/** Starts it on every address that can be had. Never rejects: what cannot is logged once and stays the service's problem. */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const { name, hosts, orAnother, setting, log } = options;
  const answer = answering(options);
  const servers: Server[] = [];
  let { port } = options;
  let problem: string | null = null;
  for (const host of hosts) {
    const server = newServer(answer);
    const listened = await listenAt(server, { host, port, orAnother: orAnother && servers.length === 0 });
    if (listened.ok) {
      ({ port } = listened);
      server.on('error', () => {}); // of one accept, such as too many open files: the next may do
      servers.push(server);
    } else {
      problem = `It does not listen on port ${port}: ${listened.reason}. Its port is set by ${setting}.`;
      log.warn(`A server of this machine does not listen on port ${port}: ${listened.reason}. Its port is set by ${setting}.`, { service: name });
    }
  }
  return {
    port: servers.length === 0 ? null : port,
    service: { name, problem: () => problem },
    close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

function newServer(answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_MS_MAX, requestTimeout: ANSWER_MS_MAX, keepAliveTimeout: KEEP_ALIVE_MS, connectionsCheckingInterval: LOOK_MS,
  }, (request, response) => void answer(request, response));
  server.maxConnections = CONNECTIONS_MAX;
  server.setTimeout(ANSWER_MS_MAX, (socket) => socket.destroy());
  return server;
}

const TEXT = 'text/plain; charset=utf-8';

function answering({ name, routes, key, log }: WebServerOptions): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const wanted = digest(`Bearer ${key}`);
  const underWay = new Map<WebRoute, Promise<WebAnswer>>();

  function made(route: WebRoute): Promise<WebAnswer> {
    const waiting = underWay.get(route);
    if (waiting !== undefined) return waiting;
    const making = route.answer().finally(() => underWay.delete(route));
    underWay.set(route, making);
    return making;
  }

  async function answerTo(request: IncomingMessage): Promise<WebAnswer> {
    const route = routes[(request.url ?? '').split('?', 1)[0] ?? ''];
    if (route === undefined) return { status: 404, type: TEXT, body: `There is nothing here. What there is: ${Object.keys(routes).join(' ')}\n` };
    if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, type: TEXT, body: 'This can be read only: GET.\n' };
    if (route.isProtected && !timingSafeEqual(digest(request.headers.authorization ?? ''), wanted)) return { status: 401, type: TEXT, body: 'This takes the bearer key of this agent: `edge-agent metrics-key` shows it.\n' };
    try {
      return await made(route);
    } catch (error) {
      log.error('A request could not be answered', { service: name, error });
      return { status: 500, type: TEXT, body: 'This could not be made. The log of the agent says why.\n' };
    }
  }

  return async (request, response) => {
    request.resume(); // a body is not for us
    const { status = 200, type, body } = await answerTo(request);
    const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...(status === 401 && { 'www-authenticate': 'Bearer' }) };
    response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : body);
  };
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
