/** What nodes measured lately, as their agents keep it, read through their tunnels. Nothing of it is kept here. */
import type { NodeHistories } from '../../api/node-ports.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { AGENT_HISTORY_PATH } from '../protocol/agent-api.ts';
import { HISTORY_BYTES_MAX, HISTORY_MEASURES, MetricsHistory } from '../protocol/metrics-history.ts';
import { askAgent, parsedJson } from '../tunnels/agent-json.ts';
import type { AgentRequests } from '../tunnels/agent-requests.ts';
import { rounded } from './quantities.ts';

/** What it needs. */
export interface HistoryPorts {
  readonly requests: Pick<AgentRequests, 'get'>;
  /** METRICS_SCRAPE_TIMEOUT_MS. */
  readonly msMax: number;
}

/** Asks agents. */
export function createHistories({ requests, msMax }: HistoryPorts): NodeHistories {
  return {
    get: (node) =>
      askAgent(requests, node, {
        path: AGENT_HISTORY_PATH,
        bytesMax: HISTORY_BYTES_MAX,
        msMax,
        tooOld: 'The agent of this node is too old to keep a history: update it.',
        read: readHistory,
      }),
  };
}

/** Reads the body of an answer, which may be anything. Numbers come out with two digits behind the point at most. */
export function readHistory(body: Uint8Array): Result<MetricsHistory> {
  const parsed = MetricsHistory.safeParse(parsedJson(body));
  if (!parsed.success)
    return refuse('service_unavailable', 'The node answered with something that is no history of its metrics.');
  const history = parsed.data;
  for (const measure of HISTORY_MEASURES)
    history[measure] = history[measure].map((value) => (value === null ? null : rounded(value)));
  return ok(history);
}
