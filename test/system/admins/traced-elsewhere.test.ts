/** A traced call at the admin that does not own what it is about: one request and one trace at both admins. */
import test from 'ava';
import { randomUUID } from 'node:crypto';
import { traceparentOf } from '../../../transport/protocol/trace-context.ts';
import { CLUSTER, FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { clientTrace } from '../../support/observability/traces.ts';
import { until } from '../../support/until.ts';

test('what an owner does for another admin stands in both logs under the request and the trace of the client', async (t) => {
  const fleet = await startFleet(t, { admins: 2, env: { LOG_LEVEL: 'debug' } });
  const told = ({ program }: AdminProgram, request: string) =>
    program
      .lines()
      .filter(({ msg, request_id }) => msg === 'a request was answered' && request_id === request)
      .map(({ operation, surface, code, trace_id }) => ({ operation, surface, code, trace_id }));

  // on a busy machine a cluster may change hands in the middle: then it is asked again, as another request
  const { context, both } = await until('an answer by way of the other admin', async () => {
    const [context, request] = [clientTrace(), randomUUID()];
    const { owner, other } = await ownership(fleet);
    const { status, headers } = await restClient(() => other.url, FLEET_KEYS.MASTER_KEY).call(
      'POST',
      `/clusters/${CLUSTER}/enrollment_keys`,
      { body: {}, headers: { traceparent: traceparentOf(context), 'x-request-id': request } },
    );
    if (status !== 201 || (await ownership(fleet)).owner !== owner) return null;
    t.is(headers.get('x-request-id'), request);
    const both = await until('both lines', () => {
      const lines = [told(other, request), told(owner, request)] as const;
      return lines.every(({ length }) => length > 0) ? lines : null;
    });
    return { context, both };
  });

  const line = { operation: 'create_enrollment_key', surface: 'rest', code: 'ok', trace_id: context.traceId };
  t.deepEqual(both, [[line], [line]]);
});
