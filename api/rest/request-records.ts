/** Requests over HTTP as records: begun when they come, told when they were answered. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { traceparentOf } from '../../transport/protocol/trace-context.ts';
import type { RequestRecord, RequestRecords } from '../request-record.ts';

/** A request knows its record. */
const records = new WeakMap<FastifyRequest, RequestRecord>();

/** The record of a request that has one: every request that the framework took. */
export function recordOf(request: FastifyRequest): RequestRecord | undefined {
  return records.get(request);
}

/** Begins the record of a request, and tells its place in the trace with the answer. */
export function beginRecord(request: FastifyRequest, reply: FastifyReply, requests: RequestRecords): void {
  const record = requests.begin(request.headers.traceparent);
  records.set(request, record);
  reply.header('traceparent', traceparentOf(record.context));
}

/**
 * Routes of the catalogue have their name in their configuration, so that a request that never became a call has it as
 * well.
 */
declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: string;
  }
}

/** Requests that met no route. */
const UNKNOWN_ROUTE = 'unknown';

/** Tells of every request for which no call did: refused at the gate, or no operation. Before routes are added. */
export function tellRequests(app: FastifyInstance, requests: RequestRecords): void {
  app.addHook('preHandler', (request, _reply, next) => {
    const record = records.get(request);
    if (record === undefined) next();
    else requests.within(record, next);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const record = records.get(request);
    if (record !== undefined && !record.isTaken) {
      const { url, config } = request.routeOptions;
      const route = url ?? UNKNOWN_ROUTE;
      requests.ended(record, {
        requestId: request.id,
        operation: config.operation ?? route,
        surface: config.operation === undefined ? 'other' : 'rest',
        code: reply.statusCode,
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'http.response.status_code': reply.statusCode,
        },
      });
    }
    done();
  });
}
