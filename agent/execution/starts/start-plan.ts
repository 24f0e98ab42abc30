/** How a journal learns which of new executions start at once: their receipt and their start share an fsync. */
import type { Delivery } from '../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';

/** Which of new executions are recorded as started in the transaction that takes them in. */
export interface StartPlan {
  /** Execution → name of its exec shim. */
  readonly shims: ReadonlyMap<ExecutionId, string>;
  stored(): void;
  /** Nothing was stored. */
  refused(): void;
}

/** Chooses which of new executions start at once. */
export type PlanStarts = (fresh: readonly Delivery[]) => StartPlan;
