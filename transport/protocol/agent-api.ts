/** The HTTP servers of an agent on its own machine: what they serve, and the key to it. */
import { createHmac } from 'node:crypto';

/** The agent's own metrics, on its API port. Source: docs/api.md, Surfaces. */
export const AGENT_METRICS_PATH = '/api/v1/agents/me/metrics/raw';

/** A fresh report on this machine, on its API port. */
export const AGENT_DIAGNOSTICS_PATH = '/api/v1/agents/me/diagnostics';

/** What this machine measured in the last hour, on its API port. An agent of before 2026-11-29 has no such path. */
export const AGENT_HISTORY_PATH = '/api/v1/agents/me/metrics/history';

/** Who is logged in to this machine by SSH now, on its API port. An agent of before 2026-11-30 has no such path. */
export const AGENT_SSH_SESSIONS_PATH = '/api/v1/agents/me/ssh_sessions';

/** Metrics of the host and of WireGuard, each on its own port, as their exporters serve them. */
export const EXPORTER_PATH = '/metrics';

/** The servers of an agent that answer HTTP, each on its own port. */
export const AGENT_SERVERS = ['api', 'host_metrics', 'wireguard_metrics'] as const;
/** One of them. */
export type AgentServer = (typeof AGENT_SERVERS)[number];

/**
 * Bearer key of the agent's API, as unpadded base64url: HMAC-SHA256 over a fixed text under the SHA-256 of the node's
 * API token.
 * Agent and admin make it from what they have, the token here and its hash there, so that no secret is stored or sent
 * for it; it opens nothing but the agent's API, and is another one as soon as the token is.
 */
export function agentApiKey(apiTokenHash: Uint8Array): string {
  return createHmac('sha256', apiTokenHash).update('edge agent api').digest('base64url');
}
