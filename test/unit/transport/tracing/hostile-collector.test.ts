/** A collector of traces that answers with anything: spans are exported or dropped, and nothing else comes of it. */
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { ANSWER_BYTES_MAX, createSpanExport } from '../../../../transport/tracing/export.ts';
import { readTracingSettings } from '../../../../transport/tracing/settings.ts';
import { hostileAnswers, openHostileTarget } from '../../../support/net/hostile-answers.ts';
import { listening, pour } from '../../../support/net/listening.ts';
import { recordingLog } from '../../../support/log.ts';
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

/** One that sends each span by itself to this port, and waits so long for an answer. */
function exporterTo(t: ExecutionContext, port: number, msMax: number, log = recordingLog()) {
  const { settings } = readTracingSettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_BSP_SCHEDULE_DELAY: '1',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
    OTEL_EXPORTER_OTLP_TIMEOUT: String(msMax),
  });
  if (settings === null) throw new Error('nothing is exported');
  const spans = createSpanExport(settings, '1', 'an-admin', log);
  t.teardown(() => spans.close());
  return spans;
}

test('an answer that is too long is not read to its end, whatever it says', async (t) => {
  let written = 0;
  let status = 200;
  const port = await listening(
    t,
    createServer((_request, response) => {
      response.writeHead(status).on('error', () => {});
      pour(response, Buffer.from('\n\0'.repeat(8_192)), (bytes) => (written += bytes));
    }),
  );
  const spans = exporterTo(t, port, 30_000);

  for (status of [200, 400]) {
    const { dropped } = spans.counters;
    spans.take(SPAN);
    await until('the end of its export', () => spans.counters.dropped > dropped);
  }

  t.is(spans.counters.exported, 0);
  t.true(written < 128 * ANSWER_BYTES_MAX, `${written} bytes`); // what the system buffers
});

test('a collector that answers drop by drop holds up nothing once its time is over', async (t) => {
  let isHonest = false;
  let asked = 0;
  const port = await listening(
    t,
    createServer((_request, response) => {
      asked += 1;
      if (isHonest) return response.end();
      const drops = setInterval(() => response.write('x'), 20);
      return response.on('close', () => clearInterval(drops));
    }),
  );
  const spans = exporterTo(t, port, 300);
  for (let taken = 0; taken < 8; taken += 1) spans.take(SPAN);
  await until('as many as may be under way', () => asked >= 4);

  isHonest = true;
  await until('an honest answer', () => {
    spans.take(SPAN);
    return spans.counters.exported > 0;
  });

  t.pass();
});

/** Exporters, each of which has a few exports under way: an answer that is not whole is waited for. */
const EXPORTERS = 10;

test('a thousand hostile answers to spans end their own exports, and an honest one is taken', async (t) => {
  const answers = hostileAnswers();
  let served = 0;
  const port = await openHostileTarget(t, answers, () => (served += 1) - 1);
  const log = recordingLog();
  const exporters = Array.from({ length: EXPORTERS }, (_, index) => {
    const { settings } = readTracingSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: index % 2 === 0 ? 'http/protobuf' : 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '1',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500', // the library waits for longer before it tries again, which has no place
    });
    if (settings === null) throw new Error('nothing is exported');
    const spans = createSpanExport(settings, '1', 'an-admin', log);
    t.teardown(() => spans.close());
    return spans;
  });
  const sum = (name: 'exported' | 'dropped' | 'taken'): number =>
    exporters.reduce((total, { counters }) => total + counters[name], 0);
  const exported = async (): Promise<void> => {
    for (const spans of exporters) spans.take(SPAN);
    await until('the end of all exports', () => sum('exported') + sum('dropped') === sum('taken'), 60_000);
  };

  for (let taken = 0; taken < answers.length; taken += EXPORTERS) for (const spans of exporters) spans.take(SPAN);
  while (served < answers.length) await exported();
  const before = exporters.map(({ counters }) => counters.exported);
  t.log({ exported: sum('exported'), dropped: sum('dropped') });
  t.true(sum('dropped') > answers.length / 4);

  await until('an honest answer to each', async () => {
    await exported(); // again where this machine is too busy for one in its time
    return exporters.every(({ counters }, index) => counters.exported > (before[index] ?? 0));
  });
  t.deepEqual(
    log.lines.filter(({ fields }) => {
      const { problem = '', ...others } = fields as { readonly problem?: string };
      return (
        !/^(?:\w{0,40}|it answers with another protocol than HTTP)$/u.test(problem) || Object.keys(others).length > 0
      );
    }),
    [],
    'what a collector says is in no line',
  );
  t.true(log.lines.length > 0);
});
