/** Which webhooks are in trouble, as the API is asked for them, and what of its answer has no room. Pure. */
import type { OVERVIEW_RECENT_MS, OVERVIEW_WAITING_MS, OverviewWebhooks } from '../../actors/resources/overview.ts';

/**
 * A webhook whose next delivery waits for so long is in trouble, in ms: one that is well answers within one or two
 * seconds.
 */
export const WAITING_MS: typeof OVERVIEW_WAITING_MS = 15_000;

/** What was given up within this time is news, in ms. */
export const DROPPED_MS: typeof OVERVIEW_RECENT_MS = 3_600_000;

/** What may be wrong with one: its deliveries wait, or some were given up. */
export const TROUBLES = ['waiting', 'dropped'] as const;
/** One of them. */
export type Trouble = (typeof TROUBLES)[number];

/** Ends of the addresses of lists of deliveries: of those that wait, and of those that were given up. */
export const [WAITING, GIVEN_UP] = ['?status__in=pending', '?status__in=dropped'] as const;

/** Times stand still for so long, in ms: a line that is copied must not change under the pointer. */
const STEP_MS = 10_000;

/** Filters of the list of webhooks for those; none for what is no trouble. `atMs`: Unix time. */
export function troubleFilters(trouble: string | undefined, atMs: number): TroubleFilters {
  const nowMs = Math.floor(atMs / STEP_MS) * STEP_MS;
  if (trouble === 'waiting') return { waiting_since__lte: new Date(nowMs - WAITING_MS).toISOString() };
  if (trouble === 'dropped') return { dropped_at__gte: new Date(nowMs - DROPPED_MS).toISOString() };
  return {};
}

interface TroubleFilters {
  readonly waiting_since__lte?: string;
  readonly dropped_at__gte?: string;
}

/** How many there are of each kind of which not all are named; null: all are. */
export function cutOf({ waiting, dropped, named }: OverviewWebhooks): Readonly<Record<Trouble, number | null>> {
  const namedWaiting = named.filter(({ waiting_since: since }) => since !== null).length;
  const namedDropped = named.filter((one) => one.dropped > 0).length;
  return { waiting: waiting > namedWaiting ? waiting : null, dropped: dropped > namedDropped ? dropped : null };
}
