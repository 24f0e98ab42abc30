import { createServer } from 'node:net';
import test from 'ava';
import { createSpanExport } from '../../../../transport/tracing/export.ts';
import { readTracingSettings } from '../../../../transport/tracing/settings.ts';
import { recordingLog, silentLog } from '../../../support/log.ts';
import { listening } from '../../../support/net/listening.ts';
import { startOtlpCollector } from '../../../support/observability/otlp-collector.ts';
import { until } from '../../../support/until.ts';

const SPAN = {
  context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true },
  parentSpanId: null,
  name: 'list_nodes',
  kind: 'server',
  startMs: 1_000,
  endMs: 2_000,
  failure: null,
  attributes: {},
} as const;

/** More than may be under way at a time. */
const SWITCHES = 6;

const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n';
const TAKEN = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

test('a header that is wrong is left out, and the others are sent with the spans', async (t) => {
  const collector = await startOtlpCollector(t);
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-good=1,x-broken=a%0Ab',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-wide=%E2%82%AC',
    // At once, and with patience: what a stop sends has no longer than 2 s, for which this process may be held up.
    OTEL_BSP_SCHEDULE_DELAY: '1',
    OTEL_BSP_EXPORT_TIMEOUT: '300000',
    OTEL_EXPORTER_OTLP_TIMEOUT: '300000',
  };
  // As where an admin runs: the library reads the environment by itself.
  Object.assign(process.env, variables);
  t.teardown(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
  });
  const { settings, warnings } = readTracingSettings(variables);
  t.is(warnings.length, 2);
  t.assert(settings !== null);
  if (settings === null) return;

  const spans = createSpanExport(settings, '1', 'an-admin', silentLog);
  spans.take(SPAN);
  await until('the span to be exported', () => spans.counters.exported === 1);
  await spans.close();

  t.deepEqual(
    collector.requests.map(({ headers }) => [headers['x-good'], headers['x-broken'], headers['x-wide']]),
    [['1', undefined, undefined]],
  );
  t.deepEqual(spans.counters, { taken: 1, exported: 1, dropped: 0 });
});

test('a collector that switches protocols over and over takes nothing, and exports go on once it does', async (t) => {
  let answered = 0;
  const port = await listening(
    t,
    createServer((socket) => {
      socket.once('data', () => socket.write((answered += 1) <= SWITCHES ? SWITCHED : TAKEN));
    }),
  );
  const { settings } = readTracingSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_BSP_SCHEDULE_DELAY: '1',
    OTEL_BSP_EXPORT_TIMEOUT: '300000',
    OTEL_EXPORTER_OTLP_TIMEOUT: '300000',
  });
  if (settings === null) throw new Error('nothing is exported');
  const log = recordingLog();
  const spans = createSpanExport(settings, '1', 'an-admin', log);
  t.teardown(() => spans.close());

  for (let sent = 1; sent <= SWITCHES; sent += 1) {
    spans.take(SPAN);
    await until('the span to be dropped', () => spans.counters.dropped === sent);
  }
  spans.take(SPAN);
  await until('the span to be exported', () => spans.counters.exported === 1);

  t.deepEqual(spans.counters, { taken: SWITCHES + 1, exported: 1, dropped: SWITCHES });
  t.deepEqual(log.lines[0]?.fields, { problem: 'it answers with another protocol than HTTP' });
});
