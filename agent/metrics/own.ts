/** What the agent tells of itself, as metrics. */
import { Exposition } from '../../transport/exposition/exposition.ts';

/** What is known of the agent at a scrape. */
export interface OwnMetricsSources {
  readonly version: string;
}

/** The agent's own metrics as text. */
export function ownMetrics({ version }: OwnMetricsSources): string {
  return new Exposition()
    .family('edge_agent_info', 'gauge', 'The version of the agent, as a label.').sample('edge_agent_info', 1, { version })
    .single('edge_agent_uptime_seconds', 'gauge', 'Seconds since the agent started.', process.uptime())
    .toString();
}
