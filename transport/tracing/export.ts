/**
 * Spans to an OpenTelemetry collector, and to the console. Loaded only where that is switched on: the libraries cost 20
 * MiB and a quarter of a second.
 */
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import {
  createNoopMeter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type HrTime,
  type MeterProvider,
} from '@opentelemetry/api';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import {
  JsonTraceSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ConsoleSpanExporter,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { Log } from '../net/log.ts';
import { refuseUpgrade, UnaskedUpgrade } from '../net/streams/unasked-upgrade.ts';
import type { EndedSpan, SpanSink } from '../../actors/tracer.ts';
import type { OtlpSettings, TracingSettings } from './settings.ts';

/** What became of spans so far. */
export interface ExportCounters {
  readonly taken: number;
  readonly exported: number;
  /** Not sent: the queue was full, or the collector did not take them. */
  readonly dropped: number;
}

/** A sink that exports. */
export interface SpanExport extends SpanSink {
  readonly counters: ExportCounters;
  /** Sends what waits, for at most STOP_MS_MAX, and hangs up. Never rejects. */
  close(): Promise<void>;
}

/** What a stop waits for a collector, in ms. */
const STOP_MS_MAX = 2_000;

/**
 * Exports that may be under way at a time: a collector that answers nothing holds no more batches than these in memory.
 */
const EXPORTS_MAX = 4;

/** The name of what makes these spans, beside the name of the service. */
const SCOPE = 'edge-fleet-control';

/** Service name of spans that happened on machines. */
const MACHINE_SERVICE = 'edge-agent';

/**
 * Exports as the settings say. What it cannot export it drops and counts; the log is told once when a collector fails,
 * and once when it takes spans again.
 */
export function createSpanExport(settings: TracingSettings, version: string, instance: string, log: Log): SpanExport {
  const counters = { taken: 0, exported: 0, dropped: 0 };
  const agent = agentOf(settings.otlp, log);
  const spans = spanMaker(settings, version, instance);
  const sampler = new TraceIdRatioBasedSampler(settings.sampler.ratio);
  const processors = settings.exporters.map(
    (kind) =>
      new BatchSpanProcessor({
        exporter: kind === 'console' ? new ConsoleSpanExporter() : watched(otlpExporter(settings.otlp, agent), log),
        maxQueueSize: settings.batch.queueMax,
        maxExportBatchSize: settings.batch.batchMax,
        scheduledDelayMillis: settings.batch.delayMs,
        exportTimeoutMillis: settings.batch.exportMsMax,
        selfObsMeterProvider: meterInto(counters),
      }),
  );

  return {
    counters,
    samples(traceId, parentSampled) {
      if (parentSampled !== null && settings.sampler.followsParent) return parentSampled;
      return sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
    },
    take(span) {
      counters.taken += processors.length;
      const readable = spans(span);
      for (const processor of processors) processor.onEnd(readable);
    },
    async close() {
      const late = new Promise<void>((resolve) => {
        setTimeout(resolve, STOP_MS_MAX).unref();
      });
      await Promise.race([Promise.allSettled(processors.map((processor) => processor.shutdown())), late]);
      agent.destroy();
      log.info(
        { exported: counters.exported, dropped: counters.taken - counters.exported },
        'the export of traces ended',
      );
    },
  };
}

/**
 * The library's exporter, put together from its parts: the ready-made one also reads the environment, and would send
 * headers that the settings left out.
 */
function otlpExporter(otlp: OtlpSettings, agent: HttpAgent): SpanExporter {
  const [serializer, contentType] =
    otlp.protocol === 'http/json'
      ? [JsonTraceSerializer, 'application/json']
      : [ProtobufTraceSerializer, 'application/x-protobuf'];
  const headers = { ...otlp.headers, 'Content-Type': contentType };
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(
      {
        url: otlp.url,
        headers: () => Promise.resolve(headers),
        timeoutMillis: otlp.timeoutMs,
        concurrencyLimit: EXPORTS_MAX,
        compression: otlp.compression,
        agentFactory: () => agent,
      },
      serializer,
      'otlp_http_span_exporter',
      TraceExporterMetricsHelper,
      undefined,
    ),
  );
}

/** Connections of our own, so that a stop ends those on which a collector says nothing. */
function agentOf({ url, timeoutMs, certificate, clientKey, clientCertificate }: OtlpSettings, log: Log): HttpAgent {
  const options = { keepAlive: true, maxSockets: EXPORTS_MAX };
  if (!url.startsWith('https:')) return bounded(new HttpAgent(options), timeoutMs);
  const files = { ca: pemOf(certificate, log), key: pemOf(clientKey, log), cert: pemOf(clientCertificate, log) };
  const given = Object.fromEntries(Object.entries(files).filter(([, file]) => file !== undefined));
  return bounded(new HttpsAgent({ ...options, ...given }), timeoutMs);
}

/** What Node calls for each request of an agent; its types leave it out. */
interface Requested {
  addRequest(request: ClientRequest, ...rest: readonly unknown[]): void;
}

/** Longest answer of a collector, in bytes, else its spans are dropped: the library reads 4 MiB in one turn. */
export const ANSWER_BYTES_MAX = 65_536;

/**
 * The requests are the library's, which waits for ever for one that a collector answers by another protocol or drop by
 * drop: after EXPORTS_MAX of these nothing would be exported any more.
 */
function bounded(agent: HttpAgent, msMax: number): HttpAgent {
  const requested = agent as HttpAgent & Requested;
  const addRequest = requested.addRequest.bind(agent);
  requested.addRequest = (request, ...rest) => {
    const late = setTimeout(
      () => request.destroy(Object.assign(new Error('it is late'), { code: 'ETIMEDOUT' })),
      msMax,
    );
    request.on('close', () => clearTimeout(late)).on('response', boundAnswer);
    addRequest(refuseUpgrade(request), ...rest);
  };
  return agent;
}

function boundAnswer(answer: IncomingMessage): void {
  let bytes = 0;
  answer.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) answer.destroy(new Error('its answer is too long'));
  });
}

function pemOf(path: string | null, log: Log): Buffer | undefined {
  if (path === null) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    log.warn(
      { path, problem: (error as NodeJS.ErrnoException).code },
      'a certificate for the trace collector cannot be read: it is done without',
    );
    return undefined;
  }
}

/** Says when exports begin to fail and when they work again, once each. */
function watched(exporter: SpanExporter, log: Log): SpanExporter {
  let fails = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined;
        if (failed && !fails)
          log.warn(
            { problem: problemOf(result.error) },
            'the trace collector does not take spans: they are dropped until it does',
          );
        if (!failed && fails) log.info({}, 'the trace collector takes spans again');
        fails = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** A status, a code of the system or a sentence of ours; never what the collector wrote. */
function problemOf(error: (Error & { readonly code?: number | string }) | undefined): string {
  if (error instanceof UnaskedUpgrade) return error.message;
  return `${error?.code ?? error?.name ?? 'unknown'}`;
}

/**
 * What the library counts of its queue comes here. Source: OpenTelemetry, semantic conventions of SDK metrics: a span
 * that was not exported has an `error.type`.
 */
function meterInto(counters: { exported: number; dropped: number }): MeterProvider {
  const meter = createNoopMeter();
  const counter = {
    add(count: number, attributes?: Readonly<Record<string, unknown>>) {
      if (attributes?.['error.type'] === undefined) counters.exported += count;
      else counters.dropped += count;
    },
  };
  return { getMeter: () => Object.assign(Object.create(meter) as typeof meter, { createCounter: () => counter }) };
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<EndedSpan['kind'], SpanKind>;

/**
 * Our spans as the library's. Those of machines have a resource of their own: another service, an instance a machine.
 */
function spanMaker(settings: TracingSettings, version: string, instance: string): (span: EndedSpan) => ReadableSpan {
  const admin = resourceFromAttributes({
    'service.version': version,
    'service.instance.id': instance,
    ...settings.resource,
  });
  const scope = { name: SCOPE, version };
  const resourceOf = ({ machine }: EndedSpan): Resource =>
    machine === undefined
      ? admin
      : resourceFromAttributes({
          ...settings.resource,
          'service.name': MACHINE_SERVICE,
          'service.instance.id': machine,
        });

  return (span) => {
    const { traceId, spanId } = span.context;
    const startTime = hrTime(span.startMs);
    const endTime = hrTime(span.endMs);
    return {
      name: span.name,
      kind: KINDS[span.kind],
      spanContext: () => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED }),
      ...(span.parentSpanId !== null && {
        parentSpanContext: { traceId, spanId: span.parentSpanId, traceFlags: TraceFlags.SAMPLED },
      }),
      startTime,
      endTime,
      duration: hrTime(span.endMs - span.startMs),
      ended: true,
      status:
        span.failure === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: span.failure },
      attributes: span.attributes,
      links: [],
      events: (span.events ?? []).map(({ name, atMs }) => ({ name, time: hrTime(atMs) })),
      resource: resourceOf(span),
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  };
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
