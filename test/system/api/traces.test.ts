/** The place of a request in a trace, on every surface: continued, told with the answer, and in the log. */
import { once } from 'node:events';
import test from 'ava';
import { WebSocket } from 'ws';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { parseTraceparent, traceparentOf, type TraceContext } from '../../../transport/protocol/trace-context.ts';
import { ADMIN_KEYS, startTestAdmin, type TestAdmin } from '../../support/admin.ts';
import { enrollment, rawAgent } from '../../support/fleet/raw-agent.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { startOtlpCollector } from '../../support/observability/otlp-collector.ts';
import { clientTrace, exportingTo, named, runTraced } from '../../support/observability/traces.ts';
import { until } from '../../support/until.ts';

const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

/** Lines of answered requests. */
const answered = ({ log }: TestAdmin) =>
  log.lines
    .filter(({ message }) => message === 'a request was answered')
    .map(({ fields }) => fields as Readonly<Record<string, unknown>>);

async function lineOf(admin: TestAdmin, operation: string): Promise<Readonly<Record<string, unknown>>> {
  return until(`the line of ${operation}`, () => answered(admin).find((line) => line['operation'] === operation));
}

/** One call on each surface, under a trace. Answers the headers of the answer. */
const SURFACES: Readonly<Record<string, (url: string, traceparent: string) => Promise<Headers>>> = {
  rest: async (url, traceparent) =>
    (await fetch(`${url}/api/v1/clusters`, { headers: { ...bearer(ADMIN_KEYS.API_KEY), traceparent } })).headers,
  trpc: async (url, traceparent) =>
    (await fetch(`${url}/api/trpc/list_clusters`, { headers: { ...bearer(ADMIN_KEYS.API_KEY), traceparent } })).headers,
  mcp: async (url, traceparent) => {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        ...bearer(ADMIN_KEYS.MCP_KEY),
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
        traceparent,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_clusters', arguments: {} },
      }),
    });
    await response.text();
    return response.headers;
  },
};

for (const [surface, call] of Object.entries(SURFACES)) {
  test(`a trace that comes over ${surface} is continued, and the answer says where`, async (t) => {
    const admin = await startTestAdmin(t);
    const context = clientTrace();

    const headers = await call(admin.url, traceparentOf(context));
    const line = await lineOf(admin, 'list_clusters');

    const told = parseTraceparent(headers.get('traceparent')) as TraceContext;
    t.is(told.traceId, context.traceId);
    t.not(told.spanId, context.spanId, 'the span of this server is its own');
    t.true(told.sampled);
    t.like(line, {
      request_id: headers.get('x-request-id'),
      trace_id: context.traceId,
      surface,
      principal: surface === 'mcp' ? 'mcp' : 'api',
      code: 'ok',
    });
    t.is(typeof line['duration_ms'], 'number');
  });
}

test('calls over a WebSocket continue the trace that its connection came with', async (t) => {
  const admin = await startTestAdmin(t);
  const context = clientTrace();
  const socket = new WebSocket(`${admin.url.replace('http', 'ws')}/api/trpc`, {
    headers: { authorization: `Bearer ${ADMIN_KEYS.API_KEY}`, traceparent: traceparentOf(context) },
  });
  t.teardown(() => socket.terminate());
  await once(socket, 'open');

  socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'list_nodes' } }));

  t.like(await lineOf(admin, 'list_nodes'), {
    trace_id: context.traceId,
    surface: 'trpc',
    principal: 'api',
    code: 'ok',
  });
});

test('without a trace, or with none that is valid, a new one begins that nobody records', async (t) => {
  const admin = await startTestAdmin(t);
  const context = clientTrace();

  for (const header of [
    undefined,
    'nonsense',
    traceparentOf(context).toUpperCase(),
    `${traceparentOf(context)}-x`,
    `00-${'0'.repeat(32)}-${context.spanId}-01`,
  ]) {
    const { headers, status } = await fetch(
      `${admin.url}/healthz`,
      header === undefined ? {} : { headers: { traceparent: header } },
    );
    const told = parseTraceparent(headers.get('traceparent'));
    t.is(status, 200);
    t.not(told?.traceId, context.traceId);
    t.is(told?.sampled, false);
  }
});

test('what is refused at the gate, is no operation or no route has its line as well, without its path', async (t) => {
  const admin = await startTestAdmin(t);

  await fetch(`${admin.url}/api/v1/nodes?secret=hunter2`, { headers: bearer('wrong-key-wrong-key-wrong') });
  await fetch(`${admin.url}/hunter2/hunter2`);
  await until('both lines', () => answered(admin).length >= 2);

  const lines = answered(admin).map(({ operation, surface, code }) => ({ operation, surface, code }));
  t.deepEqual(
    lines.toSorted((a, b) => Number(a.code) - Number(b.code)),
    [
      { operation: 'list_nodes', surface: 'rest', code: 401 },
      { operation: 'unknown', surface: 'other', code: 404 },
    ],
  );
  t.false(JSON.stringify(admin.log.lines).includes('hunter2'));
});

test('the calls of a batch are spans of their own', async (t) => {
  const collector = await startOtlpCollector(t);
  const admin = await startTestAdmin(t, exportingTo(collector.url));
  const context = clientTrace();

  const { headers } = await fetch(`${admin.url}/api/trpc/list_clusters,list_commands,list_clusters?batch=1`, {
    headers: { ...bearer(ADMIN_KEYS.API_KEY), traceparent: traceparentOf(context) },
  });
  const spans = await collector.trace(context.traceId, (found) => found.length === 3);

  const first = parseTraceparent(headers.get('traceparent'))?.spanId;
  t.is(new Set(spans.map(({ spanId }) => spanId)).size, 3);
  t.deepEqual(
    spans.map(({ spanId, parentSpanId }) =>
      spanId === first ? parentSpanId === context.spanId : parentSpanId === first,
    ),
    [true, true, true],
  );
});

test('an agent of version 2 is told nothing of traces, and its executions are spans all the same', async (t) => {
  const collector = await startOtlpCollector(t);
  const admin = await startTestAdmin(t, exportingTo(collector.url));
  const rest = restClient(() => admin.url, ADMIN_KEYS.MASTER_KEY);
  await rest.post('/clusters', { name: 'mixed' });
  const { key } = await rest.post<{ key: string }>('/clusters/mixed/enrollment_keys', { uses_remaining: null });
  const connect = async (protocol: number) =>
    rawAgent(t, () => admin.url, await rest.post<EnrollAnswer>('/agents/enroll', enrollment(key))).connect({
      protocol,
    });
  const sessions = [await connect(2), await connect(3)];
  const context = clientTrace();

  await runTraced(rest, 'true', context);
  for (const session of sessions) {
    const {
      deliveries: [delivery],
    } = await session.frame('deliver');
    const execution = delivery?.execution as never;
    session.send({ type: 'acknowledge', executions: [execution] });
    // A process of another trace is no part of this one.
    session.send({
      type: 'result',
      results: [
        {
          execution,
          outcome: 'completed',
          exit_code: 3,
          output: '',
          parts: 0,
          output_truncated: false,
          trace: { traceparent: traceparentOf(clientTrace()), ran_ms: 5, ended_ms_ago: 0 },
        },
      ],
    });
  }
  const spans = await collector.trace(context.traceId, (found) => named(found, 'execution').length === 2);

  const [old, now] = sessions.map(({ frames }) =>
    frames.flatMap((frame) => (frame.type === 'deliver' ? frame.deliveries.map(({ traceparent }) => traceparent) : [])),
  );
  t.deepEqual(old, [undefined]);
  t.is(parseTraceparent(now?.[0])?.traceId, context.traceId);
  t.deepEqual(named(spans, 'run'), []);
  for (const span of named(spans, 'execution')) t.like(span, { status: 2, statusMessage: 'exit code 3' });
});
