/** A trace whose admin and whose agent are killed. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { startOtlpCollector } from '../../support/observability/otlp-collector.ts';
import { clientTrace, exportingTo, isComplete, named, only, runTraced } from '../../support/observability/traces.ts';
import { until } from '../../support/until.ts';

/** Times of files are those of the kernel's last tick, in ms. */
const FILE_TIME_MS = 10;

test('an admin and an agent are killed while a process runs: another admin and the next agent end the same trace', async (t) => {
  const collector = await startOtlpCollector(t);
  const fleet = await startFleet(t, { admins: 2, agents: 1, env: exportingTo(collector.url) });
  const { admin: owner } = await until('an owner', () => fleet.owner());
  const other = fleet.admin(owner === fleet.admin() ? 1 : 0);
  const context = clientTrace();
  const [started, gate] = [join(fleet.directory, 'started'), join(fleet.directory, 'gate')];
  const command = await runTraced(
    restClient(() => owner.url, FLEET_KEYS.MASTER_KEY),
    `echo "$TRACEPARENT"; touch '${started}'; until [ -e '${gate}' ]; do sleep 0.1; done`,
    context,
  );
  const read = async () =>
    (
      await fleet.sql<{ status: string; output: string }>(
        'select status, output from command_execution where command_id = $1',
        [command.id],
      )
    )[0];
  await until('the start of the process', async () => existsSync(started) && (await read())?.status === 'sent');
  await collector.trace(context.traceId, (spans) => named(spans, 'create_command').length === 1);

  const killedMs = Date.now();
  await owner.kill();
  await fleet.agent().kill();
  fleet.agent().start();
  const openedMs = Date.now();
  writeFileSync(gate, '');
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
  const { startMs = 0, endMs = 0 } = run ?? {};
  const ran = `it ran from ${startMs} to ${endMs}, and was killed at ${killedMs}, and let end at ${openedMs}`;
  // the admin places it by when its result came: as much too late as that was on its way
  t.true(endMs - startMs >= openedMs - killedMs - FILE_TIME_MS && endMs >= openedMs - FILE_TIME_MS, ran);
});
