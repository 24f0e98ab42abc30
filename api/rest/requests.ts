/** What a request says of itself: its id, its credential, its caller. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { clientAddressOf } from '../../transport/net/client-address.ts';
import type { Caller } from '../principals.ts';
import { recordOf } from './request-records.ts';
import type { Surface } from '../surface.ts';

/** A valid X-Request-Id is kept: 1 to 128 letters, digits and `._-`. Others could smuggle line breaks into logs. */
const REQUEST_ID = /^[\w.-]{1,128}$/u;

/** The client's request id, or a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/**
 * The token of `Authorization: Bearer TOKEN`; null for no header, the empty text for another scheme (a wrong
 * credential).
 */
export function bearerOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  return /^Bearer +(\S+) *$/iu.exec(header)?.[1] ?? '';
}

/** Where a request comes from, IPv4 in its own form. */
export function addressOf(request: IncomingMessage): string {
  return clientAddressOf(request);
}

/** Who calls over HTTP. */
export function callerOf(request: FastifyRequest, surface: Surface): Caller {
  const key = request.headers['idempotency-key'];
  const record = recordOf(request);
  return {
    surface,
    credential: bearerOf(request.headers.authorization),
    address: addressOf(request.raw),
    host: request.headers.host,
    requestId: request.id,
    idempotencyKey: typeof key === 'string' ? key : null,
    ...(record !== undefined && { record }),
  };
}
