/** What is told of a request once it is over: one line of the log, and a span where somebody records its trace. */
import type { Log } from '../transport/net/log.ts';
import type { Span, SpanAttributes, Tracer } from '../actors/tracer.ts';
import type { RefusalCode } from '../actors/refusal.ts';
import { parseTraceparent } from '../transport/protocol/trace-context.ts';
import type { Principal, Surface } from './surface.ts';

/** One request, or one call of a batch or of a connection: what is learnt of it on its way. */
export interface RequestRecord extends Span {
  readonly startedAtMs: number;
  /** On the monotonic clock. */
  readonly beganMs: number;
  /** Its client named a trace, or this admin records it: what it creates remembers where it came from. */
  readonly isTraced: boolean;
  /** Whose key it came with; null until that is known. */
  principal: Principal | null;
  /** A call stands for it, and tells of it. */
  isTaken: boolean;
}

/** How it ended. */
export interface RequestEnd {
  readonly requestId: string;
  /** A name of the catalogue or the pattern of a route, never a path. */
  readonly operation: string;
  readonly surface: Surface | 'other';
  /** `ok`, the code of the refusal, or the status of what was answered otherwise. */
  readonly code: RefusalCode | 'ok' | number;
  readonly attributes?: SpanAttributes;
}

/** Begins and ends the records of requests. */
export interface RequestRecords {
  /** A request with this `traceparent`, if it is one; else it begins a trace. */
  begin(traceparent: unknown): RequestRecord;
  /** For a call: the record of its request, or one below it when another call of that request has it. */
  take(record: RequestRecord | undefined): RequestRecord;
  /** Tells of it. */
  ended(record: RequestRecord, end: RequestEnd): void;
  /** Runs what answers it, so that requests to agents meanwhile are its children. */
  within<T>(record: RequestRecord, run: () => T): T;
}

/** Records that go to this log and this tracer. */
export function createRequestRecords(tracer: Tracer, log: Log): RequestRecords {
  const begun = (span: Span, isTraced: boolean): RequestRecord => ({
    ...span,
    startedAtMs: Date.now(),
    beganMs: performance.now(),
    isTraced,
    principal: null,
    isTaken: false,
  });
  const begin = (traceparent: unknown): RequestRecord => {
    const span = tracer.begin(parseTraceparent(traceparent));
    return begun(span, span.parentSpanId !== null || span.context.sampled);
  };
  return {
    begin,
    take(record) {
      const own =
        record === undefined
          ? begin(undefined)
          : record.isTaken
            ? begun(tracer.begin(record.context), record.isTraced)
            : record;
      own.isTaken = true;
      return own;
    },
    ended(record, end) {
      const durationMs = performance.now() - record.beganMs;
      const { traceId, sampled } = record.context;
      log.debug(
        {
          request_id: end.requestId,
          trace_id: traceId,
          operation: end.operation,
          surface: end.surface,
          ...(record.principal !== null && { principal: record.principal }),
          code: end.code,
          duration_ms: Math.round(durationMs * 1_000) / 1_000,
        },
        'a request was answered',
      );
      if (tracer.isOn && sampled) tracer.ended(spanOf(record, end, durationMs));
    },
    within: (record, run) => tracer.within(record.context, run),
  };
}

function spanOf(
  { context, parentSpanId, startedAtMs, principal }: RequestRecord,
  { requestId, operation, surface, code, attributes }: RequestEnd,
  durationMs: number,
) {
  return {
    name: operation,
    kind: 'server' as const,
    context,
    parentSpanId,
    startMs: startedAtMs,
    endMs: startedAtMs + durationMs,
    attributes: {
      'edge.request_id': requestId,
      'edge.surface': surface,
      'edge.code': code,
      ...(principal !== null && { 'edge.principal': principal }),
      ...attributes,
    },
    failure: isFailure(code) ? String(code) : null,
  };
}

/**
 * What is the server's fault: a client that asks wrongly is no failure of this span. Source: OpenTelemetry, semantic
 * conventions of HTTP spans.
 */
function isFailure(code: RequestEnd['code']): boolean {
  return typeof code === 'number' ? code >= 500 : code === 'internal_error' || code === 'service_unavailable';
}
