/** Metrics of nodes as records, read live from them. As text: api/rest/node-metrics.ts. */
import { z } from 'zod';
import {
  type AgentMetrics,
  AgentMetricsResource,
  type Attempted,
  type HostMetrics,
  HostMetricsResource,
  type MeasuredNode,
  NodeMetricsHistoryResource,
  NodeMetricsResource,
} from '../../actors/resources/node-metrics.ts';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { NodeIdInput } from '../inputs/inputs.ts';
import { operation, type Call } from '../operation.ts';
import { NOT_FOUND } from '../reading.ts';

const input = z.strictObject({ node_id: NodeIdInput });

export const get_node_metrics = operation({
  name: 'get_node_metrics',
  kind: 'query',
  scope: 'metrics',
  summary: 'Get the metrics of a node, of its machine and its agent, as far as they can be had.',
  rest: { method: 'GET', path: '/nodes/:node_id/metrics', status: 200 },
  input,
  output: NodeMetricsResource,
  handle: async ({ node_id }, call) => {
    const measured = await measure(node_id, call);
    if (!measured.ok) return measured;
    const { nodeMetrics } = call.ports;
    const [host, agent] = await Promise.all([nodeMetrics.host(node_id), nodeMetrics.agent(node_id)]);
    return ok({
      ...measured.value,
      host: host.ok ? { available: true, ...host.value } : NO_HOST,
      agent: agent.ok ? { available: true, ...agent.value } : NO_AGENT,
    });
  },
});

export const get_host_metrics = operation({
  name: 'get_host_metrics',
  kind: 'query',
  scope: 'metrics',
  summary: "Get the metrics of a node's machine: processors, memory, root filesystem and uptime.",
  rest: { method: 'GET', path: '/nodes/:node_id/metrics/host', status: 200 },
  input,
  output: HostMetricsResource,
  handle: ({ node_id }, call) => one(node_id, call, () => call.ports.nodeMetrics.host(node_id)),
});

export const get_agent_metrics = operation({
  name: 'get_agent_metrics',
  kind: 'query',
  scope: 'metrics',
  summary: "Get the metrics of a node's agent: its memory, executions, proxies and SSH server.",
  rest: { method: 'GET', path: '/nodes/:node_id/metrics/agent', status: 200 },
  input,
  output: AgentMetricsResource,
  handle: ({ node_id }, call) => one(node_id, call, () => call.ports.nodeMetrics.agent(node_id)),
});

export const get_node_metrics_history = operation({
  name: 'get_node_metrics_history',
  kind: 'query',
  scope: 'metrics',
  summary: 'Get what a node measured in the last hour, every 15 s, as its agent keeps it.',
  rest: { method: 'GET', path: '/nodes/:node_id/metrics/history', status: 200 },
  conflicts: true,
  input,
  output: NodeMetricsHistoryResource,
  handle: async ({ node_id }, call) => {
    const measured = await measure(node_id, call);
    if (!measured.ok) return measured;
    const { nodeHistories, clock } = call.ports;
    const kept = await nodeHistories.get(node_id);
    if (!kept.ok) return kept;
    const { interval_ms: intervalMs, ages_ms: agesMs, ...lists } = kept.value;
    const nowMs = clock.nowMs(); // ages are from when they were told
    return ok({
      ...measured.value,
      timestamp: new Date(nowMs).toISOString(),
      interval_seconds: intervalMs / 1_000,
      at: agesMs.map((ageMs) => new Date(nowMs - ageMs).toISOString()),
      ...lists,
    });
  },
});

/** What could not be read is null, and not zero. */
const NO_HOST: Attempted<HostMetrics> = { available: false, cpu: null, memory: null, disk: null, uptime: null };
const NO_AGENT: Attempted<AgentMetrics> = {
  available: false,
  application: null,
  commands: null,
  discovery: null,
  health_check: null,
  oban_queues: null,
  proxy: null,
  ssh: null,
  vpn: null,
};

async function one<Metrics>(
  node: NodeId,
  call: Call,
  read: () => Promise<Result<Metrics>>,
): Promise<Result<MeasuredNode & Metrics>> {
  const measured = await measure(node, call);
  if (!measured.ok) return measured;
  const metrics = await read();
  return metrics.ok ? ok({ ...measured.value, ...metrics.value }) : metrics;
}

/** Of which node, and from when. */
async function measure(node: NodeId, { ports }: Call): Promise<Result<MeasuredNode>> {
  const row = await ports.reads.get('nodes', node);
  return row === null
    ? refuse('not_found', NOT_FOUND)
    : ok({ node_id: row.id, cluster_name: row.cluster_name, timestamp: new Date(ports.clock.nowMs()).toISOString() });
}
