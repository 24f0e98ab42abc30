/** The overview of a fleet that has no nodes. */
import type { Overview } from '../../../actors/resources/overview.ts';

const NONE = { count: 0, recent: 0 };

/** Nothing goes on. `asOf`: when it was read. */
export function quietOverview(asOf: string): Overview {
  return {
    as_of: asOf,
    counted_max: 100_000,
    node_totals: { healthy: NONE, unhealthy: NONE, unreachable: NONE },
    commands_in_flight: 0,
    executions_in_flight: 0,
    executions_completed: 0,
    executions_failed: 0,
    latest_failures: [],
    deliveries_waiting: 0,
    deliveries_dropped: 0,
    events_stored: 0,
    admins: [],
    webhooks_in_trouble: { waiting: 0, dropped: 0, deliveries_counted_max: 1_000, named: [] },
  };
}
