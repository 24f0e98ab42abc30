import test from 'ava';
import { readTracingSettings } from '../../../../transport/tracing/settings.ts';

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

test('nothing is exported unless it is asked for', (t) => {
  for (const env of [
    {},
    { OTEL_SERVICE_NAME: 'x' },
    { OTEL_TRACES_EXPORTER: 'none', ...COLLECTOR },
    { OTEL_SDK_DISABLED: 'true', ...COLLECTOR },
    { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' },
  ]) {
    t.deepEqual(readTracingSettings(env), { settings: null, warnings: [] });
  }
});

test('an endpoint switches it on, with the defaults of the standard', (t) => {
  t.deepEqual(readTracingSettings(COLLECTOR), {
    settings: {
      exporters: ['otlp'],
      otlp: {
        url: 'http://collector:4318/v1/traces',
        protocol: 'http/protobuf',
        headers: {},
        timeoutMs: 10_000,
        compression: 'none',
        certificate: null,
        clientKey: null,
        clientCertificate: null,
      },
      sampler: { ratio: 1, followsParent: true },
      batch: { queueMax: 2_048, batchMax: 512, delayMs: 5_000, exportMsMax: 30_000 },
      resource: { 'service.name': 'edge-admin' },
    },
    warnings: [],
  });
});

test('the variables of traces go before those of all signals, and their endpoint is taken as it is', (t) => {
  const { settings } = readTracingSettings({
    ...COLLECTOR,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=%C3%A9,c=x%3Dy',
    OTEL_EXPORTER_OTLP_TIMEOUT: '5',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '7',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca.pem',
  });

  t.deepEqual(settings?.otlp, {
    url: 'https://traces.example/in',
    protocol: 'http/json',
    headers: { a: '1', b: 'é', c: 'x=y' },
    timeoutMs: 7,
    compression: 'gzip',
    certificate: '/ca.pem',
    clientKey: null,
    clientCertificate: null,
  });
});

test('the name of the service goes before the attribute, and samplers are those of the standard', (t) => {
  t.deepEqual(
    readTracingSettings({
      ...COLLECTOR,
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,deployment.environment=prod',
      OTEL_SERVICE_NAME: 'b',
    }).settings?.resource,
    { 'service.name': 'b', 'deployment.environment': 'prod' },
  );
  const sampler = (name: string, arg?: string) =>
    readTracingSettings({ ...COLLECTOR, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: arg }).settings?.sampler;
  t.deepEqual(sampler('always_off'), { ratio: 0, followsParent: false });
  t.deepEqual(sampler('parentbased_traceidratio', '0.25'), { ratio: 0.25, followsParent: true });
  t.deepEqual(sampler('traceidratio'), { ratio: 1, followsParent: false });
});

/** Variable → a wrong value, and what is left of the export. */
const WRONG: readonly (readonly [Readonly<Record<string, string>>, RegExp, 'on' | 'off'])[] = [
  [
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    /^OTEL_EXPORTER_OTLP_PROTOCOL is wrong: it should be http\/protobuf or http\/json: gRPC is not spoken here, so nothing is exported/u,
    'off',
  ],
  [
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'carrier-pigeon' },
    /^OTEL_EXPORTER_OTLP_PROTOCOL is wrong: it should be one of http\/protobuf, http\/json$/u,
    'on',
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    /^OTEL_EXPORTER_OTLP_ENDPOINT is wrong: it should be a URL like http:\/\/collector:4318; nothing is exported$/u,
    'off',
  ],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'nowhere' }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is wrong/u, 'off'],
  [
    { OTEL_TRACES_EXPORTER: 'zipkin' },
    /^OTEL_TRACES_EXPORTER is wrong: it should be otlp, console, both with a comma between them, or none$/u,
    'off',
  ],
  [
    { OTEL_TRACES_SAMPLER: 'sometimes' },
    /^OTEL_TRACES_SAMPLER is wrong: it should be one of parentbased_always_on/u,
    'on',
  ],
  [
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
    /^OTEL_TRACES_SAMPLER_ARG is wrong: it should be a number from 0 to 1$/u,
    'on',
  ],
  [
    { OTEL_EXPORTER_OTLP_TIMEOUT: '-1' },
    /^OTEL_EXPORTER_OTLP_TIMEOUT is wrong: it should be a whole number from 1 to 600000$/u,
    'on',
  ],
  [{ OTEL_BSP_MAX_QUEUE_SIZE: '1e9' }, /^OTEL_BSP_MAX_QUEUE_SIZE is wrong/u, 'on'],
  [
    { OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '20' },
    /^OTEL_BSP_MAX_EXPORT_BATCH_SIZE is wrong: it should be at most OTEL_BSP_MAX_QUEUE_SIZE$/u,
    'on',
  ],
  [
    { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret,nonsense' },
    /^OTEL_EXPORTER_OTLP_HEADERS is wrong: it should be pairs like name=value/u,
    'on',
  ],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=x%0Ay' }, /^OTEL_EXPORTER_OTLP_HEADERS is wrong/u, 'on'],
  [{ OTEL_RESOURCE_ATTRIBUTES: 'a=%zz' }, /^OTEL_RESOURCE_ATTRIBUTES is wrong/u, 'on'],
  [{ OTEL_SDK_DISABLED: 'perhaps' }, /^OTEL_SDK_DISABLED is wrong: it should be one of true, false$/u, 'on'],
];

for (const [env, said, state] of WRONG) {
  test(`${Object.entries(env)
    .map((pair) => pair.join('='))
    .join(' ')} is one warning, and the export is ${state}`, (t) => {
    const { settings, warnings } = readTracingSettings({ ...COLLECTOR, ...env });

    t.is(warnings.length, 1);
    t.regex(warnings[0] ?? '', said);
    t.is(settings !== null, state === 'on');
    t.false(warnings.join().includes('secret'), 'a value may be a key');
  });
}
