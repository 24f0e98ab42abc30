/** Self-update requests as tests make them. */
import type { CountedSelfUpdate, SelfUpdateCounts, SelfUpdateRecord } from '../../actors/self-update/state.ts';
import { MADE_MS } from './actors.ts';

/** A request for all nodes at once. */
export function selfUpdateRecord(more: Partial<SelfUpdateRecord> = {}): SelfUpdateRecord {
  return {
    id: '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d99',
    targeting: { type: 'all' },
    batchSize: null,
    maxFailures: null,
    healthTimeoutMs: 300_000,
    insertedAtMs: MADE_MS,
    ...more,
  };
}

/** What its rows say: nothing but what is given. */
export function counted(
  counts: Partial<SelfUpdateCounts> = {},
  more: Partial<Omit<CountedSelfUpdate, 'counts'>> = {},
): CountedSelfUpdate {
  const none = { waiting: 0, due: 0, failures: 0, triggered: 0, inFlight: 0, ripe: 0, quiet: 0 };
  return { revision: 0, status: 'pending', ...more, counts: { ...none, ...counts } };
}
