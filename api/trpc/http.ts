/**
 * tRPC over HTTP: queries by GET, or by POST where they are too long for a URL; mutations by POST; subscriptions as
 * server-sent events.
 */
import type { ServerResponse } from 'node:http';
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Log } from '../../transport/net/log.ts';
import { retryAfterSecondsOf } from '../../actors/refusal.ts';
import { hasReadableHost, NO_HOST } from '../origins.ts';
import { sendRefusal } from '../rest/answers.ts';
import { BodyRefused, parseJson, refuseEncoded } from '../rest/json-body.ts';
import type { Gate } from '../principals.ts';
import { boundKeylessBodies } from '../rest/keyless-bodies.ts';
import { bearerOf, callerOf } from '../rest/requests.ts';
import type { TrpcContext } from './context.ts';
import { Refused, throwRefusal } from './errors.ts';
import type { AppRouter } from './router.ts';

/** Where the router is served, over HTTP and WebSocket. */
export const TRPC_PATH = '/api/trpc';

/** Calls in one batch. */
const BATCH_CALLS_MAX = 32;

/**
 * Offers the router to HTTP clients. Bodies stay text, which tRPC parses, after the look at depth and keys that all
 * bodies get.
 */
export function registerHttp(
  app: FastifyInstance,
  router: AppRouter,
  { gate, log }: { readonly gate: Gate; readonly log: Log },
): void {
  const streams = new Set<ServerResponse>();
  // A stream that ended would be over for its client; one that is cut brings it back, and it goes on where it was.
  app.addHook('preClose', (done) => {
    for (const stream of streams) stream.destroy();
    done();
  });

  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
      try {
        refuseEncoded(request.headers);
        done(null, body);
      } catch (error) {
        done(error as Error);
      }
    });
    scope.route({
      method: ['GET', 'POST'],
      url: `${TRPC_PATH}/:path`,
      preParsing: boundKeylessBodies((request) => gate.identify(callerOf(request, 'trpc')) !== null),
      handler: (request, reply) => {
        if (!hasReadableHost(request)) return sendRefusal(reply, NO_HOST);
        if (request.headers.accept?.includes('text/event-stream') === true) {
          streams.add(reply.raw);
          reply.raw.once('close', () => streams.delete(reply.raw));
        }
        return fastifyRequestHandler({
          router,
          req: request,
          res: reply,
          path: (request.params as { readonly path: string }).path,
          createContext: ({ info }) => contextOf(request, info.connectionParams?.['authorization']),
          maxBatchSize: BATCH_CALLS_MAX,
          allowMethodOverride: true,
          onError: ({ error }) => logBug(log, error, request.id),
          responseMeta: ({ errors }) => ({
            headers: headersOf(
              request.id,
              errors.map(({ cause }) => cause),
            ),
          }),
        });
      },
    });
  });
}

/** Failures that are not refusals are bugs. */
export function logBug(
  log: Log,
  error: { readonly code: string; readonly cause?: unknown },
  requestId: string | null,
): void {
  if (error.code === 'INTERNAL_SERVER_ERROR' && !(error.cause instanceof Refused))
    log.error({ error, request_id: requestId }, 'a tRPC call failed');
}

function contextOf(request: FastifyRequest, authorization: string | undefined): TrpcContext {
  readable(request);
  const caller = callerOf(request, 'trpc');
  const shown = authorization === undefined ? caller : { ...caller, credential: bearerOf(authorization) };
  return { caller: () => shown, begin: () => true, done() {}, room: () => null };
}

function readable(request: FastifyRequest): void {
  if (typeof request.body !== 'string') return;
  try {
    parseJson(Buffer.from(request.body));
  } catch (error) {
    if (error instanceof BodyRefused) throwRefusal(error.refusal, request.id);
    throw error;
  }
}

function headersOf(requestId: string, causes: readonly unknown[]): Record<string, string> {
  const refusals = causes.flatMap((cause) => (cause instanceof Refused ? [cause.refusal] : []));
  const wait = Math.max(0, ...refusals.map((refusal) => retryAfterSecondsOf(refusal) ?? 0));
  return {
    'x-request-id': requestId,
    ...(refusals.some(({ code }) => code === 'unauthorized') && { 'www-authenticate': 'Bearer' }),
    ...(wait > 0 && { 'retry-after': String(wait) }),
  };
}
