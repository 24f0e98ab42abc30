/** Traces through a real fleet, as a collector sees them. */
import test from 'ava';
import type { CommandResource, ExecutionResource } from '../../actors/resources.ts';
import { newSpanId, newTraceId, traceparentOf } from '../../transport/protocol/trace-context.ts';
import { startFleet, type Fleet } from '../support/fleet.ts';
import { startOtlpCollector, type CollectedSpan } from '../support/otlp-collector.ts';

/** Spans leave soon, so that a test need not wait for them. */
const SOON = { OTEL_BSP_SCHEDULE_DELAY: '50', LOG_LEVEL: 'debug' };

const client = () => ({ traceId: newTraceId(), spanId: newSpanId(), sampled: true });

async function createTraced(fleet: Fleet, script: string, context: ReturnType<typeof client>): Promise<CommandResource> {
  const { data } = await fleet.rest.call<CommandResource>('POST', '/commands', { body: { command_text: script, targeting: { type: 'all' } }, headers: { traceparent: traceparentOf(context) } });
  return data;
}

const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name);

/** The one span of this name. */
function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const [span, ...others] = named(spans, name);
  if (span === undefined || others.length > 0) throw new Error(`${others.length + (span === undefined ? 0 : 1)} spans are called ${name}`);
  return span;
}

const complete = (machines: number) => (spans: readonly CollectedSpan[]) => ['create_command', 'execution', 'run'].every((name) => named(spans, name).length === (name === 'create_command' ? 1 : machines));

for (const protocol of ['http/protobuf', 'http/json']) {
  test(`one trace goes from a client's traceparent through its request to every machine, over ${protocol}`, async (t) => {
    const collector = await startOtlpCollector(t);
    const fleet = await startFleet(t, { agents: 2, env: { ...SOON, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=k%201', OTEL_SERVICE_NAME: 'fleet-under-test' }, agentEnv: { LOG_LEVEL: 'debug' } });
    const context = client();

    const command = await createTraced(fleet, 'echo "$TRACEPARENT"; sleep 0.3', context);
    const executions = await fleet.settled(command);
    const spans = await collector.trace(context.traceId, complete(2));

    const request = only(spans, 'create_command');
    t.like(request, { parentSpanId: context.spanId, kind: 2, status: 0 });
    t.like(request.attributes, { 'edge.surface': 'rest', 'edge.code': 'ok', 'edge.principal': 'master' });
    t.is(request.resource['service.name'], 'fleet-under-test');
    for (const execution of executions) {
      const whole = spans.find((span) => span.name === 'execution' && span.attributes['edge.execution'] === execution.id);
      const run = spans.find((span) => span.name === 'run' && span.attributes['edge.execution'] === execution.id);
      t.is(whole?.parentSpanId, request.spanId);
      t.is(run?.parentSpanId, whole?.spanId);
      t.is(execution.output, `00-${context.traceId}-${run?.spanId}-01\n`, 'the script is told the place of its own process');
      t.like(run?.resource, { 'service.name': 'edge-agent', 'service.instance.id': execution.node_id });
      t.like(run?.attributes, { 'edge.command': command.id, 'edge.node': execution.node_id, 'process.exit.code': 0 });
      const ranMs = (run?.endMs ?? 0) - (run?.startMs ?? 0);
      t.true(ranMs >= 290 && ranMs < 5_000, `it ran for ${ranMs} ms`);
      t.true((run?.startMs ?? 0) >= (whole?.startMs ?? 0) && (run?.endMs ?? 0) <= (whole?.endMs ?? 0), 'a process lives within its execution');
      t.deepEqual(whole?.events, ['sent']);
    }
    t.deepEqual([...new Set(collector.requests.map(({ path, headers }) => [path, headers['x-collector-key'], headers['content-type']].join(' ')))], [`/v1/traces k 1 application/${protocol === 'http/json' ? 'json' : 'x-protobuf'}`]);
    const line = fleet.admins[0]?.program.lines().find((one) => one['operation'] === 'create_command');
    t.like(line, { level: 'debug', msg: 'a request was answered', trace_id: context.traceId, surface: 'rest', principal: 'master', code: 'ok' });
    const ended = fleet.agents.flatMap((agent) => agent.program.lines()).filter((one) => one['msg'] === 'An execution ended');
    t.deepEqual(ended.map((one) => [one['execution'], one['trace_id']]).toSorted(), executions.map(({ id }) => [id, context.traceId]).toSorted());
  });
}
