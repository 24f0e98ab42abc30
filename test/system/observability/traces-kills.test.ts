/** A trace whose admin and whose agent are killed. */
import test from 'ava';
import { CLUSTER, FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { startOtlpCollector } from '../../support/otlp-collector.ts';
import { clientTrace, exportingTo, isComplete, named, only, runTraced } from '../../support/traces.ts';
import { until } from '../../support/until.ts';

test('an admin and an agent are killed while a process runs: another admin and the next agent end the same trace', async (t) => {
  const collector = await startOtlpCollector(t);
  const fleet = await startFleet(t, { admins: 2, agents: 1, env: exportingTo(collector.url) });
  const [row] = await fleet.sql<{ name: string }>(
    'select a.name from cluster_ownership w join admin a on a.id = w.admin_id join cluster c on c.id = w.cluster_id where c.name = $1 and w.lease_until > clock_timestamp()',
    [CLUSTER],
  );
  const owner = fleet.admins.find(({ name }) => name === row?.name) as AdminProgram;
  const other = fleet.admins.find((admin) => admin !== owner) as AdminProgram;
  const context = clientTrace();
  const command = await runTraced(
    restClient(() => owner.url, FLEET_KEYS.MASTER_KEY),
    'echo "$TRACEPARENT"; sleep 4',
    context,
  );
  const read = async () =>
    (
      await fleet.sql<{ status: string; output: string }>(
        'select status, output from command_execution where command_id = $1',
        [command.id],
      )
    )[0];
  await until('the start of the process', async () => (await read())?.status === 'sent');
  await collector.trace(context.traceId, (spans) => named(spans, 'create_command').length === 1);

  await owner.kill();
  await fleet.agents[0]?.kill();
  fleet.agents[0]?.start();
  const spans = await collector.trace(context.traceId, (found) => isComplete(found, 1));

  const [request, execution, run] = ['create_command', 'execution', 'run'].map((name) => only(spans, name));
  t.deepEqual(
    [request?.parentSpanId, execution?.parentSpanId, run?.parentSpanId],
    [context.spanId, request?.spanId, execution?.spanId],
  );
  t.deepEqual(
    [request?.resource['service.instance.id'], execution?.resource['service.instance.id']],
    [owner.name, other.name],
  );
  t.is(
    (await read())?.output,
    `00-${context.traceId}-${run?.spanId}-01\n`,
    'the agent that came back tells the span that the script knew',
  );
  const ranMs = (run?.endMs ?? 0) - (run?.startMs ?? 0);
  t.true(ranMs >= 3_900, `it ran for ${ranMs} ms`);
});
