/** How an execution ended, as its agent tells it. */
import { z } from 'zod';
import { ExecutionId } from './ids.ts';
import { EXIT_CODE_MAX, EXIT_CODE_MIN, OUTPUT_PARTS_MAX, OUTPUT_PART_BYTES_MAX } from './limits.ts';
import { foreignText } from './text.ts';
import { Traceparent } from './trace-context.ts';

/**
 * The process of an execution as a span: its own place in the trace of the delivery, how long it ran, and how long ago
 * it ended when this was sent. Durations, because clocks of machines differ; on the machine's monotonic clock, but over
 * a reboot.
 */
export const ExecutionTrace = z.object({
  traceparent: Traceparent,
  ran_ms: z.int().min(0),
  ended_ms_ago: z.int().min(0),
});
export type ExecutionTrace = z.infer<typeof ExecutionTrace>;

/** How an execution ended. Output longer than one part went ahead in `parts` output-part frames; else it is inline. */
export const ExecutionResult = z.object({
  execution: ExecutionId,
  outcome: z.enum(['completed', 'cancelled']),
  /** An agent before 2026-11-30 may hold a larger one, and repeat it until it is confirmed: the largest is taken. */
  exit_code: z
    .int()
    .min(EXIT_CODE_MIN)
    .overwrite((code) => Math.min(code, EXIT_CODE_MAX)),
  output: foreignText().max(OUTPUT_PART_BYTES_MAX),
  parts: z.int().min(0).max(OUTPUT_PARTS_MAX),
  output_truncated: z.boolean(),
  /** Absent from an agent before version 3, when the delivery had no traceparent, and when no process ran. */
  trace: ExecutionTrace.optional(),
});
export type ExecutionResult = z.infer<typeof ExecutionResult>;
