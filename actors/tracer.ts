/** Spans: who continues which trace, and what is told of what ended. Costs next to nothing while nobody records. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { newSpanId, newTraceId, type TraceContext } from '../transport/protocol/trace-context.ts';

/** A span that began. */
export interface Span {
  readonly context: TraceContext;
  /** Null: it begins its trace. */
  readonly parentSpanId: string | null;
}

/** What may be said of a span: numbers and short words. Never a secret, a script, an output or an address. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span that is over. Times are Unix ms and may have fractions. */
export interface EndedSpan extends Span {
  readonly name: string;
  /**
   * A request that came in; one that went out; work that was handed on; work that was taken over from elsewhere;
   * anything else.
   */
  readonly kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly events?: readonly { readonly name: string; readonly atMs: number }[];
  /** Null: it went well. Else in a few words what went wrong. */
  readonly failure: string | null;
  /** The machine on which it happened, where it was not this admin. */
  readonly machine?: string;
}

/** Where recorded spans go. */
export interface SpanSink {
  /**
   * Whether spans of this trace are recorded here. `parentSampled`: whether who passed it on records it; null when it
   * begins here.
   */
  samples(traceId: string, parentSampled: boolean | null): boolean;
  /** Takes a span, or drops it: returns at once, never throws. */
  take(span: EndedSpan): void;
}

/** Begins spans, and hands those that are recorded to who exports them. */
export interface Tracer {
  /** Whether spans go anywhere. */
  readonly isOn: boolean;
  /**
   * A span under this parent, or one that begins a trace; recorded as the sampler says, and without one as its parent
   * is.
   */
  begin(parent: TraceContext | null): Span;
  /** Records a span that is over, if its trace is recorded. */
  ended(span: EndedSpan): void;
  /** Runs with this as the current span, for requests that this admin makes meanwhile. */
  within<T>(context: TraceContext, run: () => T): T;
  /** The current span; null: none. */
  current(): TraceContext | null;
}

/** A tracer; without a sink nothing is recorded, and traces that others record are continued. */
export function createTracer(sink: SpanSink | null): Tracer {
  const currents = new AsyncLocalStorage<TraceContext>();
  return {
    isOn: sink !== null,
    begin(parent) {
      const traceId = parent?.traceId ?? newTraceId();
      const sampled = sink === null ? (parent?.sampled ?? false) : sink.samples(traceId, parent?.sampled ?? null);
      return { context: { traceId, spanId: newSpanId(), sampled }, parentSpanId: parent?.spanId ?? null };
    },
    ended(span) {
      if (span.context.sampled) sink?.take(span);
    },
    within: (context, run) => currents.run(context, run),
    current: () => currents.getStore() ?? null,
  };
}
