/** Executions as spans of the trace of whoever created their command. */
import type { ExecutionTrace } from '../../transport/protocol/execution-result.ts';
import { parseTraceparent, spanIdOf, type TraceContext } from '../../transport/protocol/trace-context.ts';
import type { Effect } from '../step.ts';
import type { EndedSpan, SpanAttributes } from '../tracer.ts';
import type { OpenExecution } from '../records.ts';
import type { ExecutionStatus } from '../resources/command.ts';

/** How an execution ended, as its spans tell. `machine`: what its agent said of the process. */
export interface TracedEnding {
  readonly status: Exclude<ExecutionStatus, 'pending' | 'sent'>;
  readonly exitCode: number | null;
  readonly atMs: number;
  readonly machine?: ExecutionTrace | undefined;
}

/**
 * The execution's own place in the trace of its command; null when nobody traces it. The same at every admin, at any
 * time.
 */
export function traceOf({ id, command }: Pick<OpenExecution, 'id' | 'command'>): TraceContext | null {
  return command.trace === undefined ? null : { ...command.trace, spanId: spanIdOf(command.trace.traceId, id) };
}

/**
 * The spans of an execution that ended, to be told once that is stored: of its whole life, from its creation on, so
 * that a wait for its machine shows; and of its process there. Nothing where nobody records the trace.
 */
export function traced(execution: OpenExecution, ending: TracedEnding): { readonly onceStored?: readonly Effect[] } {
  const context = traceOf(execution);
  if (context === null || !context.sampled) return {};
  const run = processSpan(execution, context, ending);
  const spans =
    run === null ? [executionSpan(execution, context, ending)] : [executionSpan(execution, context, ending), run];
  return { onceStored: spans.map((span) => ({ type: 'trace', span })) };
}

function executionSpan(
  execution: OpenExecution,
  context: TraceContext,
  { status, exitCode, atMs }: TracedEnding,
): EndedSpan {
  const sent = execution.sentAtMs === null ? [] : [{ name: 'sent', atMs: execution.sentAtMs }];
  return {
    name: 'execution',
    kind: 'producer',
    context,
    parentSpanId: execution.command.trace?.spanId ?? null,
    startMs: execution.insertedAtMs,
    endMs: Math.max(execution.insertedAtMs, atMs),
    events: sent,
    attributes: { ...about(execution, exitCode), 'edge.cluster': execution.clusterName, 'edge.status': status },
    failure: failureOf(status, exitCode),
  };
}

/**
 * Placed by this admin's clock: it ended so long before its result came, and ran for so long before. What an agent says
 * fits into the life of the execution, or is made to.
 */
function processSpan(
  execution: OpenExecution,
  parent: TraceContext,
  { status, exitCode, atMs, machine }: TracedEnding,
): EndedSpan | null {
  const context = parseTraceparent(machine?.traceparent);
  if (machine === undefined || context === null || context.traceId !== parent.traceId) return null;
  const endMs = Math.max(execution.insertedAtMs, atMs - machine.ended_ms_ago);
  return {
    name: 'run',
    kind: 'consumer',
    context: { ...parent, spanId: context.spanId },
    parentSpanId: parent.spanId,
    startMs: Math.max(execution.insertedAtMs, endMs - machine.ran_ms),
    endMs,
    attributes: about(execution, exitCode),
    failure: failureOf(status, exitCode),
    machine: execution.node,
  };
}

function about({ id, command, node }: OpenExecution, exitCode: number | null): SpanAttributes {
  return {
    'edge.execution': id,
    'edge.command': command.id,
    'edge.node': node,
    ...(exitCode !== null && { 'process.exit.code': exitCode }),
  };
}

function failureOf(status: TracedEnding['status'], exitCode: number | null): string | null {
  if (status !== 'completed') return status;
  return exitCode === 0 || exitCode === null ? null : `exit code ${exitCode}`;
}
