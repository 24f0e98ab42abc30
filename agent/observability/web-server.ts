/**
 * A small HTTP server of the agent: a few paths to GET, open ones and some behind a bearer key. Answers of some length
 * are packed for whoever takes that, as every Prometheus and every admin do: a sixth of the bytes of metrics.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { listenForAdmins, type OwnPlace } from '../listening.ts';
import type { Service } from './health.ts';
import { acceptsEncoding } from '../../transport/net/accept-encoding.ts';
import type { Log } from '../../transport/net/log.ts';
import { boundPipelining } from '../../transport/net/streams/pipelining.ts';

/** What whoever connects may cost. */
export interface WebLimits {
  /** Connections at once to one address; more are closed at once. Each admin keeps one to each server that it asks. */
  readonly connectionsMax: number;
  /** Requests on one connection; after the last one it is closed. */
  readonly requestsMax: number;
  /** All headers of a request, in bytes. */
  readonly headerBytesMax: number;
  /** From a connection, or from the answer before, to whole headers, in ms. */
  readonly headersMsMax: number;
  /** A connection without a request is closed after this, in ms. */
  readonly keepAliveMs: number;
  /** To make an answer, in ms; and as long for the client to take it. */
  readonly answerMsMax: number;
  /** How often the server looks for connections that take too long, in ms. */
  readonly lookMs: number;
}

/**
 * The limits of an agent. Sources: an admin gives up a scrape after 10 s by default, and keeps a connection for 70 s
 * (transport/tunnels/limits.ts); bearer keys take 50 bytes of headers.
 */
export const WEB_LIMITS: WebLimits = {
  connectionsMax: 256,
  requestsMax: 1_000,
  headerBytesMax: 8_192,
  headersMsMax: 5_000,
  keepAliveMs: 75_000,
  answerMsMax: 30_000,
  lookMs: 1_000,
};

/** What is answered to a GET. */
export interface WebAnswer {
  readonly type: string;
  readonly body: string;
  /** Default: 200. */
  readonly status?: number;
}

/** One path. Requests that come while an answer is made share it, so that a crowd costs what one costs. */
export interface WebRoute {
  /** Whether the bearer key must be shown. */
  readonly isProtected: boolean;
  /** Makes an answer. A rejection is logged and answered with 500, without its cause. */
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
  readonly log: Log;
  readonly limits?: Partial<WebLimits>;
}

/** A running server, or what is left of it. */
export interface WebServer {
  /** Null: it does not listen. */
  readonly port: number | null;
  /** Where admins reach it; null: nowhere. */
  readonly place: OwnPlace | null;
  readonly service: Service;
  /** Cuts what is open. */
  close(): void;
}

/**
 * Starts it on every address that can be had. Never rejects: what cannot is logged once and stays the service's
 * problem.
 */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const { name, hosts, orAnother, setting, log } = options;
  const limits = { ...WEB_LIMITS, ...options.limits };
  const answer = answering(options, limits);
  const listened = await listenForAdmins({
    hosts,
    port: options.port,
    orAnother,
    newServer: () => newServer(answer, limits),
  });
  const { port, place, servers, failures } = listened;
  for (const server of servers) server.on('error', () => {}); // of one accept, such as too many open files: the next may do
  const problems = failures.map(
    ({ port: wanted, reason }) => `on port ${wanted}: ${reason}. Its port is set by ${setting}.`,
  );
  for (const problem of problems) log.warn({ service: name }, `A server of this machine does not listen ${problem}`);
  const problem = problems.length === 0 ? null : `It does not listen ${problems.at(-1)}`;
  return {
    port,
    place,
    service: { name, problem: () => problem },
    close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

type Answering = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function newServer(
  answer: Answering,
  { connectionsMax, requestsMax, headerBytesMax, headersMsMax, keepAliveMs, answerMsMax, lookMs }: WebLimits,
): Server {
  const server = boundPipelining(
    createServer(
      {
        maxHeaderSize: headerBytesMax,
        headersTimeout: headersMsMax,
        requestTimeout: answerMsMax,
        keepAliveTimeout: keepAliveMs,
        connectionsCheckingInterval: lookMs,
      },
      (request, response) => void answer(request, response),
    ),
  );
  server.maxConnections = connectionsMax;
  server.maxRequestsPerSocket = requestsMax;
  server.setTimeout(answerMsMax, (socket) => socket.destroy());
  return server;
}

const TEXT = 'text/plain; charset=utf-8';

/** Answers of so many characters are packed: less is one packet either way. */
const PACKED_CHARACTERS_MIN = 1_024;

const gzipped = promisify(gzip);

function answering({ name, routes, key, log }: WebServerOptions, { answerMsMax }: WebLimits): Answering {
  const wanted = digest(`Bearer ${key}`);
  const underWay = new Map<WebRoute, Promise<WebAnswer>>();
  const packed = packing(name, log);

  function made(route: WebRoute): Promise<WebAnswer> {
    const waiting = underWay.get(route);
    if (waiting !== undefined) return waiting;
    // else one that never ends would be everybody's
    const making = inTime(route.answer(), answerMsMax).finally(() => underWay.delete(route));
    underWay.set(route, making);
    return making;
  }

  async function answerTo(request: IncomingMessage): Promise<WebAnswer> {
    const route = routes[(request.url ?? '').split('?', 1)[0] ?? ''];
    if (route === undefined)
      return {
        status: 404,
        type: TEXT,
        body: `There is nothing here. What there is: ${Object.keys(routes).join(' ')}\n`,
      };
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return { status: 405, type: TEXT, body: 'This can be read only: GET.\n' };
    if (route.isProtected && !timingSafeEqual(digest(request.headers.authorization ?? ''), wanted))
      return {
        status: 401,
        type: TEXT,
        body: 'This takes the bearer key of this agent: `edge-agent metrics-key` shows it.\n',
      };
    try {
      return await made(route);
    } catch (error) {
      log.error({ service: name, error }, 'A request could not be answered');
      return { status: 500, type: TEXT, body: 'This could not be made. The log of the agent says why.\n' };
    }
  }

  return async (request, response) => {
    const hasBody =
      request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
    const answer = await answerTo(request);
    const { status = 200, type, body } = answer;
    const gzip = await packed(request, answer);
    // it is not for us, and not read: what is left of it goes with the connection
    if (hasBody) response.shouldKeepAlive = false;
    const headers = {
      'content-type': type,
      'content-length': gzip?.length ?? Buffer.byteLength(body),
      ...(gzip !== null && { 'content-encoding': 'gzip' }),
      vary: 'accept-encoding',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
      ...(status === 405 && { allow: 'GET, HEAD' }),
    };
    response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : (gzip ?? body));
  };
}

type Packing = (request: IncomingMessage, answer: WebAnswer) => Promise<Buffer | null>;

/** Packs an answer once for all that share it; null: the client does not take that, or it could not be done. */
function packing(name: string, log: Log): Packing {
  const packed = new WeakMap<WebAnswer, Promise<Buffer | null>>();
  return ({ headers }, answer) => {
    if (answer.body.length < PACKED_CHARACTERS_MIN || !acceptsEncoding(headers['accept-encoding'], 'gzip'))
      return Promise.resolve(null);
    const waiting = packed.get(answer);
    if (waiting !== undefined) return waiting;
    const making = gzipped(answer.body, { level: constants.Z_BEST_SPEED }).catch((error: unknown) => {
      log.warn({ service: name, error }, 'An answer could not be packed, and goes as it is');
      return null;
    });
    packed.set(answer, making);
    return making;
  };
}

/** Rejects when it takes longer. */
async function inTime<T>(making: Promise<T>, msMax: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it took longer than ${msMax} ms`)), msMax);
  timer.unref(); // what is made for nobody any more keeps no process
  try {
    return await Promise.race([making, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
