/** A local HTTP server that takes deliveries at any path, and believes only signed ones. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { boundPipelining } from '../../transport/net/streams/pipelining.ts';
import type { Envelope } from '../output/event-text.ts';
import { EXIT, Problem } from '../problem.ts';
import type { Verify } from '../../api/client/webhooks.ts';

/** Longest body that is read, in bytes: above any event, whose outputs are left out. */
export const BODY_BYTES_MAX = 1_048_576;

/** Time for one request, in ms: what the service waits for an answer. Source: docs/events.md. */
const REQUEST_MS_MAX = 10_000;

/** Connections at a time: those of the service are WEBHOOK_CONCURRENCY, 64 at most. */
const CONNECTIONS_MAX = 128;

/** What a receiver does. */
export interface ReceiverOptions {
  readonly host: string;
  /** 0 is any free one. */
  readonly port: number;
  /** What a delivery is answered with. */
  readonly status: number;
  readonly verify: Verify;
  /** Takes an event; it is answered when that is done. */
  readonly received: (event: Envelope) => Promise<void>;
  /** Told why a request was not taken: words of ours only, none of the request's. */
  readonly refused: (reason: string) => void;
}

/** A receiver that listens. */
export interface Receiver {
  readonly url: string;
  /** Cuts what is open. */
  close(): Promise<void>;
}

/** What is said to the sender. */
interface Answer {
  readonly status: number;
  /** Null: it was taken. */
  readonly reason: string | null;
}

/** Listens. Throws a Problem when it cannot. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const server = boundPipelining(
    createServer(
      { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX, connectionsCheckingInterval: 1_000 },
      (request, response) => void take(request, response, options),
    ),
  );
  server.maxConnections = CONNECTIONS_MAX;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${isIPv6(options.host) ? `[${options.host}]` : options.host}:${port}/`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function listen(server: Server, { host, port }: ReceiverOptions): Promise<void> {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new Problem(
        `port ${port} of ${host} cannot be used, as another program listens there: give another --port, or none for a free one`,
      );
    if (code === 'EACCES')
      throw new Problem(
        `port ${port} needs more rights than this user has: give a --port above 1023, or none for a free one`,
      );
    throw new Problem(`cannot listen on ${host} (${code}): --host should be an address of this machine`, EXIT.usage);
  }
}

async function take(request: IncomingMessage, response: ServerResponse, options: ReceiverOptions): Promise<void> {
  const { status, reason } = await answerTo(request, options);
  if (reason !== null)
    options.refused(`refused a request from ${request.socket.remoteAddress ?? 'someone who left'}: ${reason}`);
  response.statusCode = status;
  if (reason === null) {
    response.end();
    return;
  }
  if (status === 405) response.setHeader('allow', 'POST');
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(`${reason}\n`);
}

async function answerTo(request: IncomingMessage, { verify, received, status }: ReceiverOptions): Promise<Answer> {
  if (request.method !== 'POST')
    return { status: 405, reason: `it is a ${request.method ?? 'request'}; events come by POST` };
  const body = await bodyOf(request);
  if (body === 'too-long') return { status: 413, reason: `its body is longer than ${BODY_BYTES_MAX} bytes` };
  if (body === 'cut') return { status: 400, reason: 'it broke off' };
  const problems = verify(request.headersDistinct, body, Date.now());
  if (problems.length > 0) return { status: 401, reason: problems.join('; ') };
  const event = eventIn(body);
  if (event === null) return { status: 400, reason: 'it is signed, but its body is no event' };
  try {
    await received(event);
  } catch {
    return { status: 503, reason: 'this receiver is ending' };
  }
  return { status, reason: null };
}

/**
 * Of a body that is too long the rest is read and forgotten, as long as the request may take: a sender that is cut
 * while it sends may not see the answer.
 */
async function bodyOf(request: IncomingMessage): Promise<Buffer | 'too-long' | 'cut'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      else chunks.length = 0;
    }
  } catch {
    return 'cut';
  }
  return bytes > BODY_BYTES_MAX ? 'too-long' : Buffer.concat(chunks);
}

/** Only what has the shape of an envelope is told: the secret may sign other things elsewhere. */
function eventIn(body: Buffer): Envelope | null {
  try {
    const event = JSON.parse(body.toString('utf8')) as Partial<Envelope> | null;
    const isEvent =
      typeof event?.type === 'string' &&
      typeof event.time === 'string' &&
      typeof event.data === 'object' &&
      event.data !== null;
    return isEvent ? (event as Envelope) : null;
  } catch {
    return null;
  }
}
