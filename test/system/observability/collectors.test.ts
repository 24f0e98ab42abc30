/** Collectors that are away, frozen or hostile: an admin that exports to them is none the slower, and stops in time. */
import { execFileSync } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import test from 'ava';
import { ADMIN_KEYS, startTestAdmin, type TestAdmin } from '../../support/admin.ts';
import { scaled } from '../../support/busy.ts';
import { startOtlpCollector } from '../../support/observability/otlp-collector.ts';
import type { Scope } from '../../support/scope.ts';
import { clientTrace } from '../../support/observability/traces.ts';
import { traceparentOf } from '../../../transport/protocol/trace-context.ts';
import { listening, origin, pour } from '../../support/net/listening.ts';
import { until } from '../../support/until.ts';

/** A stop may take this long because of traces, in ms, and the rest of it as long again on a busy machine. */
const STOP_MS_MAX = 2_000 + 4_000;

/** A small queue that is full at once, and little patience. */
const IMPATIENT = {
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_BSP_MAX_QUEUE_SIZE: '32',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '8',
  OTEL_EXPORTER_OTLP_TIMEOUT: '300',
  OTEL_BSP_EXPORT_TIMEOUT: '400',
};

const listen = async (scope: Scope, server: Server): Promise<string> =>
  `http://127.0.0.1:${await listening(scope, server)}`;

const answering = (answer: (response: ServerResponse) => unknown) => (scope: Scope) =>
  origin(scope, (request, response) => {
    request.resume();
    answer(response.on('error', () => {}));
  });

/** One byte, again and again, and never an end. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 20);
  response.writeHead(200).on('close', () => clearInterval(timer));
}

const COLLECTORS: readonly (readonly [string, (scope: Scope) => Promise<string>])[] = [
  ['is not there', async () => 'http://127.0.0.1:9'],
  ['takes connections and says nothing', (scope) => listen(scope, createTcpServer())],
  [
    'talks no HTTP',
    (scope) =>
      listen(
        scope,
        createTcpServer((socket) => void socket.end('SSH-2.0-x\r\n\r\n')),
      ),
  ],
  ['answers 500 with what it was sent', answering((response) => response.writeHead(500).end(ADMIN_KEYS.MASTER_KEY))],
  [
    'wants to be asked again in a year',
    answering((response) => response.writeHead(503, { 'retry-after': '31536000' }).end()),
  ],
  ['never ends its answer', answering(drip)],
  [
    'answers without end as fast as it can',
    answering((response) => pour(response.writeHead(200), Buffer.alloc(65_536, 'x'))),
  ],
  [
    'answers garbage',
    answering(
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(Buffer.alloc(4_096, 0xff)),
    ),
  ],
];

const asked = (admin: TestAdmin) =>
  fetch(`${admin.url}/api/v1/clusters`, {
    headers: { authorization: `Bearer ${ADMIN_KEYS.API_KEY}`, traceparent: traceparentOf(clientTrace()) },
  }).then(async (response) => {
    await response.arrayBuffer();
    return response.status;
  });

/** Asks again where a crowded machine had no time for it, as its users should. */
const ask = async (admin: TestAdmin): Promise<number> => {
  let status = 503;
  await until('an answer', async () => (status = await asked(admin)) !== 503);
  return status;
};

for (const [what, start] of COLLECTORS) {
  test.serial(`a collector that ${what} delays and breaks nothing`, async (t) => {
    const endpoint = await start(t);
    const admin = await startTestAdmin(t, { ...IMPATIENT, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });

    const statuses = new Set<number>();
    for (let round = 0; round < 10; round += 1)
      for (const status of await Promise.all(Array.from({ length: 20 }, () => ask(admin)))) statuses.add(status);
    // the spans were taken: what is wrong with the answer is the collector's business
    const isGarbage = what === 'answers garbage';
    if (!isGarbage)
      await until('the warning', () =>
        admin.log.lines.some(
          ({ message }) => message === 'the trace collector does not take spans: they are dropped until it does',
        ),
      );
    const beganMs = performance.now();
    await admin.stop();
    const tookMs = performance.now() - beganMs;

    t.deepEqual([...statuses], [200]);
    t.true(tookMs < scaled(STOP_MS_MAX), `the stop took ${tookMs} ms`);
    const told = admin.log.lines.filter(({ level }) => level === 'warn' || level === 'error');
    const ofCollector = told.filter(({ message }) => /collector|trace|span/u.test(message));
    t.true(ofCollector.length <= 1, `it was told once: ${JSON.stringify(told)}`);
    t.false(JSON.stringify(told).includes(ADMIN_KEYS.MASTER_KEY), 'nothing that a collector writes is in the log');
    const { exported = 0, dropped = 0 } = (admin.log.lines.find(
      ({ message }) => message === 'the export of traces ended',
    )?.fields ?? {}) as { exported?: number; dropped?: number };
    if (isGarbage) t.true(exported > 0);
    else t.true(dropped >= 100, `${dropped} spans were counted as dropped`);
  });
}

test.serial(
  'spans that wait when an admin stops are sent, and a collector that comes back is told of once',
  async (t) => {
    let good = false;
    const collector = await startOtlpCollector(t, (response) => void response.writeHead(good ? 200 : 400).end());
    const admin = await startTestAdmin(t, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/its/own/path`,
      OTEL_BSP_SCHEDULE_DELAY: '30',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    });
    let count = 0;
    const counted = async () => until('an answer', async () => ((count += 1), (await asked(admin)) !== 503));
    await counted();
    await until('the warning', () => admin.log.lines.some(({ level }) => level === 'warn'));

    good = true;
    await counted();
    await until('good news', () =>
      admin.log.lines.some(({ message }) => message === 'the trace collector takes spans again'),
    );
    await counted();
    await admin.stop();

    t.is(collector.spans.filter(({ name }) => name === 'list_clusters').length, count);
    t.deepEqual(
      [
        ...new Set(
          collector.requests.map(
            ({ path, headers }) => `${path} ${headers['content-encoding']} ${headers['content-type']}`,
          ),
        ),
      ],
      ['/its/own/path gzip application/json'],
    );
  },
);

/**
 * Loads the whole admin, switches tracing on or off, and prints how many modules of OpenTelemetry that took, but those
 * of its API, a few constants that prom-client loads.
 */
const COUNT_MODULES = `
import { registerHooks } from 'node:module';
let modules = 0;
registerHooks({ load(url, context, next) { if (url.includes('@opentelemetry/') && !url.includes('@opentelemetry/api/')) modules += 1; return next(url, context); } });
await import('./main.ts');
const { createTracing } = await import('./transport/tracing/tracing.ts');
const log = { debug() {}, info() {}, warn() {}, error() {} };
const stops = [];
const ends = { add: (_what, stop) => stops.push(stop) };
await createTracing({ variables: JSON.parse(process.argv[1]), version: '0', instance: 'x', log, ends });
for (const stop of stops) await stop();
console.log(modules);`;

for (const [what, variables, isLoaded] of [
  ['without the variables', {}, false],
  ['when the SDK is disabled', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }, false],
  ['with an endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, true],
] as const) {
  test.serial(`${what} OpenTelemetry is ${isLoaded ? '' : 'not '}loaded`, (t) => {
    const printed = execFileSync(
      process.execPath,
      ['--input-type=module', '--eval', COUNT_MODULES, JSON.stringify(variables)],
      { cwd: new URL('../../..', import.meta.url), encoding: 'utf8' },
    );

    t.is(Number(printed) > 0, isLoaded);
  });
}
