/** What overviews need, which many ask for over and over: read seldom, however many ask. */
import type { Overview } from '../actors/resources/overview.ts';
import type { SubsystemCheck } from './views/health.ts';

/** Kept for some seconds for all who ask. */
export interface OverviewPorts {
  /**
   * One reading for all who ask within OVERVIEW_KEPT_MS, within 5 s. Rejects with DatabaseUnavailable when the database
   * is away.
   */
  overview(): Promise<Overview>;
  /** Runs the checks of /healthz, in parallel, 5 s each, unless that was done within HEALTH_KEPT_MS. Never rejects. */
  recentHealth(): Promise<readonly SubsystemCheck[]>;
}
