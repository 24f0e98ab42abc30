/** The process of an execution in the trace of its delivery. */
import { parseTraceparent, spanIdOf, traceparentOf } from '../../transport/protocol/trace-context.ts';
import type { Log } from '../../transport/net/log.ts';
import type { Ending } from './execution.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';

/**
 * The process's own `traceparent`, a child of the delivered one; null when nobody traces it. Always the same for the
 * same delivery, so that an agent that was killed reports the span whose id the script was given.
 */
export function processTraceparent(delivered: string | null | undefined): string | null {
  const parent = parseTraceparent(delivered);
  return parent === null ? null : traceparentOf({ ...parent, spanId: spanIdOf(parent.traceId, parent.spanId) });
}

/** Says that a process is about to exist. */
export function logStart(log: Log, execution: ExecutionId, traceparent: string | null): void {
  log.debug({ execution, ...traceField(traceparent) }, 'An execution starts');
}

/** Says how an execution ended. */
export function logEnd(log: Log, { execution, outcome, exitCode }: Ending, traceparent: string | null): void {
  log.debug({ execution, ...traceField(traceparent), outcome, exit_code: exitCode }, 'An execution ended');
}

/** `trace_id` of lines about an execution, where there is one. */
export function traceField(traceparent: string | null): { readonly trace_id?: string } {
  const trace = parseTraceparent(traceparent);
  return trace === null ? {} : { trace_id: trace.traceId };
}
