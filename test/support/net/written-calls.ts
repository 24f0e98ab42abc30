/** Calls of one admin to another, written by hand over plain HTTP, and what comes back. */
import { once } from 'node:events';
import { get, request as httpRequest, type IncomingMessage } from 'node:http';
import { CALL_ROUTE, SEALED_TYPE } from '../../../transport/admins/call-entrance.ts';
import type { ReceivedHeader } from '../../../transport/admins/peer-header.ts';
import { encodeCall } from '../../../transport/admins/protocol/call.ts';
import { CALL_PATH, PEER_HEADER } from '../../../transport/admins/protocol/version.ts';
import { callOf, keysOf, type LinkedAdmin } from '../linked-admins.ts';

/** What came back, without what differs from request to request. */
export interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

const OF_ONE_REQUEST = new Set(['date', 'x-request-id', 'traceparent', 'connection', 'keep-alive']);

/** A POST. `body` null: it is told of and never sent. */
export async function post(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | null,
): Promise<Told> {
  const request = httpRequest(new URL(path, url), { method: 'POST', headers });
  if (body !== null) request.end(body);
  else request.flushHeaders();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  if (body === null) request.destroy();
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(Object.entries(response.headers).filter(([name]) => !OF_ONE_REQUEST.has(name))),
    body: Buffer.concat(pieces),
  };
}

/** A call with this header, or none. */
export function sentTo(b: LinkedAdmin, header: string | undefined, body: Uint8Array): Promise<Told> {
  return post(
    b.served.url,
    CALL_PATH,
    { 'content-type': SEALED_TYPE, ...(header !== undefined && { [PEER_HEADER]: header }) },
    body,
  );
}

/** A whole call of a to b, by hand. */
export function written(a: LinkedAdmin, b: LinkedAdmin, nowMs = Date.now()): { header: ReceivedHeader; body: Buffer } {
  const keys = keysOf(a);
  const header = keys.header(CALL_ROUTE, b.instanceId, nowMs);
  return { header, body: keys.sealCall(header, encodeCall(callOf())) };
}

/** The answer to a path that there is not, without the words of its one request. */
export function plain({ status, headers, body }: Told): object {
  const { error } = JSON.parse(body.toString()) as { readonly error: unknown };
  return { status, error, headers: Object.keys(headers).toSorted() };
}

/** What anybody is told at a path that there is not. */
export async function anybodys(b: LinkedAdmin): Promise<object> {
  return plain(await post(b.served.url, '/internal/v1/nothing', { 'content-type': SEALED_TYPE }, Buffer.from('x')));
}

/** Status of the answer to an upgrade with this header. */
export function upgradeTo(admin: LinkedAdmin, path: string, proof: string | undefined): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const request = get(`${admin.served.url}${path}`, {
    headers: {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
      ...(proof !== undefined && { [PEER_HEADER]: proof }),
    },
  });
  request.on('response', (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  request.on('upgrade', (response, socket) => {
    socket.destroy();
    resolve(response.statusCode);
  });
  return promise;
}
