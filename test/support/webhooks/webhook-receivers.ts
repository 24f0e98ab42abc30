/** Receivers of webhooks for tests: real servers that keep what they got, and a sender of webhooks. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createRawServer, type Server as RawServer, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Attempt, DeliveryRef } from '../../../actors/webhook/delivery.ts';
import type { WebhookRecord } from '../../../actors/records.ts';
import { webhookHeaders, webhookSecret } from '../../../actors/sealed-columns.ts';
import { createVault } from '../../../persistence/vault.ts';
import { monotonicMs } from '../../../transport/net/clock.ts';
import { createGuard } from '../../../transport/net/outbound-guard/guard.ts';
import { HttpWebhookSender, type WebhookSenderOptions } from '../../../transport/events/webhooks/sender.ts';
import { scaled } from '../busy.ts';
import { listening } from '../net/listening.ts';
import { silentLog } from '../log.ts';

/** A request as its receiver got it. */
export interface Got {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A server, what it got, and how many connections it has seen. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly got: readonly Got[];
  connections(): number;
}

/** An envelope with characters of one to four bytes. */
export const ENVELOPE =
  '{"specversion":"1.0","id":"0b7ee0c6-7c5b-4b7a-9d5e-1c2d3e4f5a6b","data":{"name":"Grüße, 東京 🚀","nul":"\\u0000"}}';

/** Its id. */
export const EVENT_ID = '0b7ee0c6-7c5b-4b7a-9d5e-1c2d3e4f5a6b';

/** A secret as people write them. */
export const SECRET = 'a plain secret, 32 characters long';

/** The try's own time in the tests, in Unix ms. */
export const NOW_MS = 1_800_000_000_500;

/** A vault under a key of the tests. */
export const vault = createVault(Buffer.alloc(32, 5));

/** A port whose guard lets loopback through; closed with the test. */
export function webhookSender(
  t: Pick<ExecutionContext, 'teardown'>,
  options: Partial<WebhookSenderOptions> = {},
): HttpWebhookSender {
  const sender = new HttpWebhookSender({
    vault,
    connect: createGuard({ allowPrivate: true }).connector(),
    bodyOf: () => Promise.resolve(Buffer.from(ENVELOPE)),
    mayDeliver: () => true,
    timeoutMs: scaled(5_000),
    connectionsMax: 4,
    version: '1.2.3',
    random: Math.random,
    monotonicMs,
    nowMs: () => NOW_MS,
    log: silentLog,
    ...options,
  });
  t.teardown(() => sender.close());
  return sender;
}

/** A webhook that goes there. */
export function webhookTo(
  url: string,
  {
    secret = SECRET,
    headers = {},
    id = '01890000-0000-7000-8000-000000000001',
  }: { readonly secret?: string; readonly headers?: Readonly<Record<string, string>>; readonly id?: string } = {},
): WebhookRecord {
  return {
    id,
    url,
    subscribedEvents: ['edge.core.test'],
    insertedAtMs: 0,
    sealedSecret: vault.seal(secret, webhookSecret(id)),
    sealedHeaders: vault.seal(JSON.stringify(headers), webhookHeaders(id)),
  };
}

/** The first try of the envelope above. */
export const DELIVERY: DeliveryRef = {
  id: 'd1',
  cursor: '1.1',
  eventId: EVENT_ID,
  subject: 's1',
  attempts: 0,
  attemptsMax: 3,
  dueAtMs: null,
  unstored: null,
};

/** Sends one request, which must fail with this sentence: the attempt. */
export async function fails(
  t: ExecutionContext,
  sender: HttpWebhookSender,
  url: string,
  error: string,
  id?: string,
): Promise<Attempt | null> {
  const attempt = await sender.send(webhookTo(url, id === undefined ? {} : { id }), DELIVERY);
  t.like(attempt, { type: 'failed', error });
  return attempt;
}

/** An HTTP server on loopback that answers as told. */
export async function receiver(
  t: Pick<ExecutionContext, 'teardown'>,
  answer: (request: Got, response: Parameters<RequestListener>[1], count: number) => void,
  host = '127.0.0.1',
): Promise<Receiver & { readonly server: Server }> {
  const got: Got[] = [];
  let connections = 0;
  // it ends no idle connection: a request may be about to use it
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const one: Got = {
          method: request.method ?? '',
          path: request.url ?? '',
          headers: request.headers,
          rawHeaders: request.rawHeaders,
          body: Buffer.concat(chunks),
        };
        got.push(one);
        answer(one, response, got.length);
      });
  });
  server.on('connection', () => {
    connections += 1;
  });
  const port = await listening(t, server, host);
  return {
    server,
    port,
    got,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/hook?of=edge`,
    connections: () => connections,
  };
}

/** A TCP server on loopback that is told of each connection. */
export async function rawReceiver(
  t: Pick<ExecutionContext, 'teardown'>,
  connected: (socket: Socket, count: number) => void,
): Promise<{ readonly url: string; readonly port: number; readonly server: RawServer; connections(): number }> {
  let connections = 0;
  const server = createRawServer((socket) => {
    connections += 1;
    connected(socket, connections);
  });
  const port = await listening(t, server);
  return { server, port, url: `http://127.0.0.1:${port}/hook`, connections: () => connections };
}
