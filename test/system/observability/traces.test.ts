/** Traces through a real fleet, as a collector sees them. */
import test from 'ava';
import { traceparentOf } from '../../../transport/protocol/trace-context.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { startOtlpCollector, type OtlpCollector } from '../../support/observability/otlp-collector.ts';
import { createScope } from '../../support/scope.ts';
import { clientTrace, exportingTo, isComplete, only, runTraced } from '../../support/observability/traces.ts';
import { scaled } from '../../support/busy.ts';
import { until } from '../../support/until.ts';

const scope = createScope();
let started: { readonly fleet: Fleet; readonly collector: OtlpCollector } | undefined;

test.serial.before('the fleet starts, with a collector', async () => {
  const collector = await startOtlpCollector(scope);
  const env = {
    ...exportingTo(collector.url),
    LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=k%201',
    OTEL_SERVICE_NAME: 'fleet-under-test',
  };
  started = { collector, fleet: await startFleet(scope, { agents: 2, env, agentEnv: { LOG_LEVEL: 'debug' } }) };
});
test.after.always('the fleet ends', () => scope.end());

function fleet(): Fleet {
  if (started === undefined) throw new Error('the fleet did not start');
  return started.fleet;
}

function collector(): OtlpCollector {
  if (started === undefined) throw new Error('the collector did not start');
  return started.collector;
}

test.serial("one trace goes from a client's traceparent through its request to every machine", async (t) => {
  const context = clientTrace();

  const command = await runTraced(fleet().rest, 'echo "$TRACEPARENT"; sleep 0.3', context);
  const executions = await fleet().settled(command);
  const spans = await collector().trace(context.traceId, (found) => isComplete(found, 2));

  const request = only(spans, 'create_command');
  t.like(request, { parentSpanId: context.spanId, kind: 2, status: 0 });
  t.like(request.attributes, { 'edge.surface': 'rest', 'edge.code': 'ok', 'edge.principal': 'master' });
  t.is(request.resource['service.name'], 'fleet-under-test');
  for (const execution of executions) {
    const whole = spans.find((span) => span.name === 'execution' && span.attributes['edge.execution'] === execution.id);
    const run = spans.find((span) => span.name === 'run' && span.attributes['edge.execution'] === execution.id);
    t.is(whole?.parentSpanId, request.spanId);
    t.is(run?.parentSpanId, whole?.spanId);
    t.is(
      execution.output,
      `00-${context.traceId}-${run?.spanId}-01\n`,
      'the script is told the place of its own process',
    );
    t.like(run?.resource, { 'service.name': 'edge-agent', 'service.instance.id': execution.node_id });
    t.like(run?.attributes, { 'edge.command': command.id, 'edge.node': execution.node_id, 'process.exit.code': 0 });
    const ranMs = (run?.endMs ?? 0) - (run?.startMs ?? 0);
    t.true(ranMs >= 290 && ranMs < scaled(5_000), `it ran for ${ranMs} ms`);
    t.true(
      (run?.startMs ?? 0) >= (whole?.startMs ?? 0) && (run?.endMs ?? 0) <= (whole?.endMs ?? 0),
      'a process lives within its execution',
    );
    t.deepEqual(whole?.events, ['sent']);
  }
  t.deepEqual(
    [
      ...new Set(
        collector().requests.map(({ path, headers }) =>
          [path, headers['x-collector-key'], headers['content-type']].join(' '),
        ),
      ),
    ],
    ['/v1/traces k 1 application/x-protobuf'],
  );
  const line = await until('the line of the request', () =>
    fleet()
      .admin()
      .program.lines()
      .find((one) => one['operation'] === 'create_command'),
  );
  t.like(line, {
    level: 'debug',
    msg: 'a request was answered',
    trace_id: context.traceId,
    surface: 'rest',
    principal: 'master',
    code: 'ok',
  });
  const ended = await until('the lines of both agents', () => {
    const lines = fleet().agents.flatMap((agent) => agent.program.lines());
    const found = lines.filter((one) => one['msg'] === 'An execution ended');
    return found.length >= executions.length && found;
  });
  t.deepEqual(
    Object.fromEntries(ended.map((one) => [one['execution'], one['trace_id']])),
    Object.fromEntries(executions.map(({ id }) => [id, context.traceId])),
  );
});

test.serial('a trace that nobody records goes on to the script, and is not exported', async (t) => {
  const context = { ...clientTrace(), sampled: false };

  const traced = await fleet().settled(await runTraced(fleet().rest, 'echo "$TRACEPARENT"', context));
  const spans = collector().spans.filter(({ traceId }) => traceId === context.traceId);

  t.regex(traced[0]?.output ?? '', new RegExp(`^00-${context.traceId}-[0-9a-f]{16}-00\n$`, 'u'));
  t.deepEqual(spans, []);
});

test.serial('a scrape through the admin carries the trace to the agent', async (t) => {
  const node = fleet().agent().node;
  const scrape = async () => {
    const context = clientTrace();
    const headers = { traceparent: traceparentOf(context) };
    return { context, answer: await fleet().rest.call('GET', `/nodes/${node}/metrics/agent/raw`, { headers }) };
  };

  // a busy machine is asked again, in another trace
  const { context, answer } = await until('an answer', async () => {
    const one = await scrape();
    return one.answer.status !== 503 && one;
  });
  const spans = await collector().trace(context.traceId, (found) => found.length === 2);

  t.is(answer.status, 200);
  const [request, asked] = [only(spans, '/api/v1/nodes/:node_id/metrics/agent/raw'), only(spans, 'agent api')];
  t.is(asked.parentSpanId, request.spanId);
  t.like(asked, { kind: 3, status: 0 });
  t.is(answer.headers.get('traceparent'), `00-${context.traceId}-${request.spanId}-01`);
});
