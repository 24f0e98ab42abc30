/** The updater's HTTP API, as Watchtower has it: POST /v1/update, and three pages to read. */
import { hash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { boundPipelining } from '../../transport/net/streams/pipelining.ts';
import { fullBucket, take, type BucketLimits } from '../../transport/net/token-bucket.ts';
import { REQUEST_CHARS_MAX, type Outcome } from './state.ts';
import type { ListenPlace } from './settings.ts';
import { UpdateProblem } from './problem.ts';

/** Requests, before anybody is asked for a key: 60 a minute, as Watchtower allows. */
export const REQUESTS: BucketLimits = { tokensMax: 60, tokensPerSecond: 1 };

/** Connections at once; the agent has one. */
export const CONNECTIONS_MAX = 16;

/** All headers of a request, in bytes, and its body, which nobody reads. */
export const HEADER_BYTES_MAX = 8_192;
export const BODY_BYTES_MAX = 1_048_576;

/** A request is whole within this, in ms. */
export const REQUEST_MS_MAX = 10_000;

/** Whoever asks while an update runs is told to come back after this, in s. Source: Watchtower. */
export const RETRY_AFTER_SECONDS = 30;

/** Header that names the request of an agent. Source: docs/architecture/self-updates.md. */
export const REQUEST_HEADER = 'x-edge-update-request';

/** What an update was asked for. */
export interface Asked {
  readonly request: string | null;
  readonly force: boolean;
}

/** What the server asks of the updater. */
export interface UpdaterCalls {
  /**
   * Begins an update, or answers with one that was begun before: for the same request, or for this one from now on, as
   * nothing is changed yet. Null: another one runs.
   * `finished` never rejects.
   */
  update(asked: Asked): { readonly finished: Promise<Outcome | null> } | null;
  /** What would be installed. */
  check(): Promise<object>;
  /** What came of the last update; null: there was none. */
  outcome(): Outcome | null;
  /** A bug, or this machine, kept a question from its answer. */
  failed(error: unknown): void;
}

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Listens, or rejects with an UpdateProblem that says why not. */
export async function startUpdaterServer(place: ListenPlace, token: string, calls: UpdaterCalls): Promise<Server> {
  const server = boundPipelining(
    createServer(
      {
        maxHeaderSize: HEADER_BYTES_MAX,
        requestTimeout: REQUEST_MS_MAX,
        headersTimeout: REQUEST_MS_MAX,
        keepAliveTimeout: 5_000,
        connectionsCheckingInterval: 1_000,
      },
      serving(token, calls),
    ),
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: place.host, port: place.port }, resolve);
  }).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'another program listens there already' : (error as Error).message;
    throw new UpdateProblem(`UPDATER_LISTEN ${place.host}:${place.port}: ${why}`, { cause: error });
  });
  server.on('error', () => {}); // of one accept, such as too many open files
  return server;
}

function serving(token: string, calls: UpdaterCalls): (request: IncomingMessage, response: ServerResponse) => void {
  let bucket = fullBucket(REQUESTS);
  const expected = hash('sha256', `Bearer ${token}`, 'buffer');
  const isLetIn = ({ headers }: IncomingMessage) =>
    timingSafeEqual(hash('sha256', headers.authorization ?? '', 'buffer'), expected);
  return (request, response) => {
    const taking = take(bucket, REQUESTS, 1, performance.now());
    bucket = taking.bucket;
    void bodyOf(request)
      .then((isSmall) => {
        if (!taking.isTaken) return tooMany('too many requests', 1);
        if (!isSmall) return { status: 413, body: { error: `a body has at most ${BODY_BYTES_MAX} bytes` } };
        return answerTo(request, isLetIn(request), calls);
      })
      .catch((error: unknown) => {
        if (error instanceof UpdateProblem) return { status: 503, body: { error: error.message } };
        if (!response.destroyed) calls.failed(error); // whoever asked is not gone
        return { status: 500, body: { error: 'the updater failed; its log says why' } };
      })
      .then((answer) => send(response, answer));
  };
}

async function answerTo(request: IncomingMessage, isLetIn: boolean, calls: UpdaterCalls): Promise<Answer> {
  const asked = URL.parse(request.url ?? '/', 'http://localhost');
  if (asked === null) return { status: 404, body: { error: 'no such path' } };
  const { pathname, searchParams } = asked;
  if (pathname === '/livez') return methodOf(request, 'GET') ?? { status: 200, body: { status: 'ok' } };
  if (!['/v1/update', '/v1/check', '/v1/outcome'].includes(pathname))
    return { status: 404, body: { error: 'no such path' } };
  const refused = methodOf(request, pathname === '/v1/update' ? 'POST' : 'GET');
  if (!isLetIn)
    return { status: 401, body: { error: 'the token is missing or wrong' }, headers: { 'www-authenticate': 'Bearer' } };
  if (refused !== null) return refused;
  if (pathname === '/v1/check') return { status: 200, body: await calls.check() };
  if (pathname === '/v1/update') return update(request, searchParams, calls);
  // Not 404 where there was none: that is the answer of updaters that never say.
  return { status: 200, body: calls.outcome() ?? { request: null, outcome: null } };
}

async function update({ headers }: IncomingMessage, query: URLSearchParams, calls: UpdaterCalls): Promise<Answer> {
  const request = headers[REQUEST_HEADER] ?? null;
  if (
    Array.isArray(request) ||
    (request !== null && !/^[\w-]+$/u.test(request)) ||
    (request ?? '').length > REQUEST_CHARS_MAX
  )
    return {
      status: 400,
      body: { error: `${REQUEST_HEADER} should be at most ${REQUEST_CHARS_MAX} letters, digits and hyphens` },
    };
  const begun = calls.update({ request, force: query.get('force') === 'true' });
  if (begun === null) return tooMany('an update runs already', RETRY_AFTER_SECONDS);
  if (query.get('async') === 'true') return { status: 202, body: { status: 'accepted' } };
  const startedMs = performance.now();
  const outcome = await begun.finished;
  const is = (what: Outcome['outcome']) => (outcome?.outcome === what ? 1 : 0);
  const failed = outcome === null || outcome.error !== null ? 1 : 0;
  return {
    status: failed === 1 ? 500 : 200,
    body: {
      summary: {
        scanned: 1,
        updated: is('updated'),
        failed,
        restarted: is('updated') + is('rolled_back'),
        skipped: is('unchanged') - (is('unchanged') && failed),
      },
      timing: { duration_ms: Math.round(performance.now() - startedMs) },
      timestamp: new Date().toISOString(),
      api_version: 'v1',
      outcome,
      ...(failed === 1 && { error: outcome?.error ?? 'the updater was stopped before the end' }),
    },
  };
}

function methodOf({ method }: IncomingMessage, allowed: string): Answer | null {
  return method === allowed
    ? null
    : { status: 405, body: { error: `this path takes ${allowed}` }, headers: { allow: allowed } };
}

function tooMany(error: string, seconds: number): Answer {
  return { status: 429, body: { error }, headers: { 'retry-after': `${seconds}` } };
}

/** Reads the body to its end, or as far as one may go. */
async function bodyOf(request: IncomingMessage): Promise<boolean> {
  let bytes = 0;
  // Not destroyed for being too large: it is to be answered that it is.
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > BODY_BYTES_MAX) return false;
  }
  return true;
}

function send(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(status === 413 && { connection: 'close' }),
  });
  response.end(text);
}
