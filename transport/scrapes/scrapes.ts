/** Metrics of nodes as their agents serve them, read through their tunnels. */
import type { NodeMetrics } from '../../actors/kit/ports.ts';
import { ok, refuse } from '../../actors/refusal.ts';
import { AGENT_METRICS_PATH, EXPORTER_PATH } from '../protocol/agent-api.ts';
import type { AgentRequests } from '../reach/agent-requests.ts';
import { EXPOSITION_BYTES_MAX } from './limits.ts';

/** What scrapes need. */
export interface ScrapePorts {
  readonly requests: Pick<AgentRequests, 'get'>;
  /** METRICS_SCRAPE_TIMEOUT_MS. */
  readonly msMax: number;
}

const SOURCES = {
  host: { server: 'host_metrics', path: EXPORTER_PATH },
  wireguard: { server: 'wireguard_metrics', path: EXPORTER_PATH },
  agent: { server: 'api', path: AGENT_METRICS_PATH },
} as const;

/** Reads nodes. Nothing is kept between two scrapes. */
export function createScrapes({ requests, msMax }: ScrapePorts): NodeMetrics {
  return {
    async raw(node, source) {
      const answer = await requests.get(node, { ...SOURCES[source], bytesMax: EXPOSITION_BYTES_MAX, msMax });
      if (answer.ok) return ok(answer.body);
      return answer.failure === 'unknown_node' ? refuse('not_found', 'Resource not found') : refuse('service_unavailable', answer.message);
    },
  };
}
