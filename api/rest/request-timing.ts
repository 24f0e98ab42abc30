/**
 * How long REST requests took, told to whoever counts. Named by their operation or by the pattern of their route, never
 * by their path, so that strangers cannot make new names.
 */
import type { FastifyInstance } from 'fastify';
import type { AnyOperation } from '../operation.ts';
import { codeOf, type RequestTimes } from '../metrics/request-times.ts';
import { recordOf } from './request-records.ts';
import { API_PREFIX } from './routes.ts';

/** Requests that met no route. */
const UNKNOWN_ROUTE = 'unknown';

/**
 * Times all requests but those to these beginnings: surfaces whose calls are timed one by one, and whose streams last
 * for hours. Before routes are added.
 */
export function timeRequests(
  app: FastifyInstance,
  operations: readonly AnyOperation[],
  times: Pick<RequestTimes, 'observe'>,
  timedElsewhere: readonly string[],
): void {
  const names = new Map(
    operations.flatMap(({ rest, name }): [string, string][] =>
      rest === null ? [] : [[`${rest.method} ${API_PREFIX}${rest.path}`, name]],
    ),
  );
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? UNKNOWN_ROUTE;
    // Without a record: another admin's (api/internal/mount.ts), which is no request of a client.
    if (recordOf(request) !== undefined && !timedElsewhere.some((beginning) => route.startsWith(beginning))) {
      const operation = names.get(`${request.method} ${route}`);
      times.observe(
        operation === undefined ? 'other' : 'rest',
        operation ?? route,
        codeOf(reply.statusCode),
        reply.elapsedTime,
      );
    }
    done();
  });
}
