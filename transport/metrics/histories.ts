/** What nodes measured lately, as their agents keep it, read through their tunnels. Nothing of it is kept here. */
import type { NodeHistories } from '../../api/node-ports.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import { AGENT_HISTORY_PATH } from '../protocol/agent-api.ts';
import type { NodeId } from '../protocol/ids.ts';
import { HISTORY_BYTES_MAX, HISTORY_MEASURES, MetricsHistory } from '../protocol/metrics-history.ts';
import type { AgentRequests } from '../tunnels/agent-requests.ts';
import { RETRY_SECONDS } from './limits.ts';
import { rounded } from './quantities.ts';

/** What it needs. */
export interface HistoryPorts {
  readonly requests: Pick<AgentRequests, 'get'>;
  /** METRICS_SCRAPE_TIMEOUT_MS. */
  readonly msMax: number;
}

/** The status with which an agent of a release before answers: its API has no such path. */
const NO_SUCH_PATH = 404;

/** Asks agents. */
export function createHistories({ requests, msMax }: HistoryPorts): NodeHistories {
  return {
    async get(node: NodeId) {
      const wanted = { server: 'api', path: AGENT_HISTORY_PATH, bytesMax: HISTORY_BYTES_MAX, msMax } as const;
      const answer = await requests.get(node, wanted);
      if (answer.ok) return readHistory(Buffer.concat(answer.body));
      if (answer.failure === 'unknown_node') return refuse('not_found', 'Resource not found');
      if (answer.status === NO_SUCH_PATH)
        return refuse('conflict', 'The agent of this node is too old to keep a history: update it.');
      const { refusal } = refuse('service_unavailable', answer.message);
      if (answer.failure !== 'overloaded') return { ok: false, refusal };
      return { ok: false, refusal: { ...refusal, retryAfterSeconds: RETRY_SECONDS } };
    },
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

/** Undefined: it is no JSON in UTF-8. */
function parsedJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
