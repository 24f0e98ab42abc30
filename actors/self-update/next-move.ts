/** What a self-update request does next, by its counts alone. Pure. */
import type { CountedSelfUpdate, SelfUpdateRecord } from './state.ts';
import { SELF_UPDATE_STEP_NODES_MAX } from './limits.ts';
import type { SelfUpdateMove } from './writes.ts';

/**
 * The next move; null: there is something to wait for. What time makes of rows comes first, since everything else
 * depends on it; a failure is counted before another node has its turn.
 */
export function nextMove(
  { batchSize, maxFailures }: SelfUpdateRecord,
  { status, counts }: CountedSelfUpdate,
): SelfUpdateMove | null {
  if (status === 'completed') return null;
  if (counts.ripe > 0) return { type: 'judge' };
  if (status === 'pending' && counts.triggered > 0) return { type: 'begin' };
  if (counts.waiting > 0) {
    if (maxFailures !== null && counts.failures >= maxFailures) return { type: 'halt' };
    const room = batchSize === null ? counts.waiting : batchSize - counts.inFlight;
    const nodes = Math.min(room, counts.waiting, SELF_UPDATE_STEP_NODES_MAX);
    return nodes > 0 ? { type: 'due', nodes } : null;
  }
  const isOver = counts.due === 0 && (batchSize === null || counts.inFlight === 0);
  return isOver ? { type: 'complete' } : null;
}
