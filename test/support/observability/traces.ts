/** Traces in tests: a client that begins one, and what is looked for among the spans that came of it. */
import { newSpanId, newTraceId, traceparentOf, type TraceContext } from '../../../transport/protocol/trace-context.ts';
import type { CommandResource } from '../../../actors/resources/command.ts';
import type { Rest } from '../fleet/rest.ts';
import type { CollectedSpan } from './otlp-wire.ts';

/** Settings by which an admin exports at once, so that a test need not wait. */
export function exportingTo(url: string): Record<string, string> {
  return { OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_EXPORTER_OTLP_ENDPOINT: url };
}

/** A trace that a client began and records. */
export function clientTrace(): TraceContext {
  return { traceId: newTraceId(), spanId: newSpanId(), sampled: true };
}

/** Runs a script on every machine, under this trace. */
export async function runTraced(rest: Rest, script: string, context: TraceContext): Promise<CommandResource> {
  const { data } = await rest.call<CommandResource>('POST', '/commands', {
    body: { command_text: script, targeting: { type: 'all' } },
    headers: { traceparent: traceparentOf(context) },
  });
  return data;
}

/** Spans of this name. */
export function named(spans: readonly CollectedSpan[], name: string): CollectedSpan[] {
  return spans.filter((span) => span.name === name);
}

/** The one span of this name. */
export function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const [span, ...others] = named(spans, name);
  if (span === undefined || others.length > 0)
    throw new Error(`${others.length + (span === undefined ? 0 : 1)} spans are called ${name}`);
  return span;
}

/** Whether all spans of a command on so many machines are there. */
export function isComplete(spans: readonly CollectedSpan[], machines: number): boolean {
  return (
    named(spans, 'create_command').length === 1 &&
    ['execution', 'run'].every((name) => named(spans, name).length === machines)
  );
}
