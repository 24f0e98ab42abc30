/** Metrics of a node as clients see them. Every leaf may be null. Source: spec.md, metrics records. */
import { z } from 'zod';
import type {
  AgentMetrics,
  AgentMetricsResource,
  HostMetrics,
  HostMetricsResource,
  NodeMetricsResource,
} from '../../actors/node-metrics.ts';

const count = z.int().nullable();
const number = z.number().nullable();
const text = z.string().nullable();
const counts = z.record(z.string(), z.int()).nullable();

const measured = {
  node_id: z.uuid(),
  cluster_name: z.string(),
  timestamp: z.iso.datetime().describe('When the node was asked.'),
};

const space = z.object({
  total_bytes: count,
  available_bytes: count,
  used_bytes: count,
  total_gb: number,
  available_gb: number,
  used_gb: number,
  usage_percent: number.describe('(total - available) / total * 100.'),
});

const hostParts = {
  cpu: z.object({ cores: count, load_1m: number, load_5m: number, load_15m: number }),
  memory: space,
  disk: space.describe('Of the root filesystem.'),
  uptime: z.object({ seconds: count, human: text }),
} satisfies Record<keyof HostMetrics, z.ZodType>;

const agentParts = {
  application: z.object({
    memory_binary_bytes: count,
    memory_binary_mb: number,
    memory_ets_bytes: count,
    memory_ets_mb: number,
    memory_processes_bytes: count,
    memory_processes_mb: number,
    memory_total_bytes: count,
    memory_total_mb: number,
    process_count: count,
    uptime_seconds: count,
    uptime_human: text,
  }),
  commands: z.object({ completed_total: count, enqueued_total: count, reported_total: count, synced_total: count }),
  discovery: z.object({ admins_found_last: count, scans_total: count }),
  health_check: z.object({ reports_total: count }),
  oban_queues: z.array(
    z.object({
      queue: z.string(),
      available: count,
      completed: count,
      discarded: count,
      executing: count,
      retryable: count,
    }),
  ),
  proxy: z.object({
    bytes_up_total: count,
    bytes_down_total: count,
    bytes_up_mb: number,
    bytes_down_mb: number,
    http_connections_total: count,
    http_blocked_total: count,
    http_blocked_by_reason: counts,
    socks5_connections_total: count,
    socks5_blocked_total: count,
    socks5_blocked_by_reason: counts,
    tunnels_closed_total: count,
    tunnels_closed_normal_total: count,
    tunnels_closed_deadline_total: count,
    tunnels_closed_drain_timeout_total: count,
  }),
  ssh: z.object({ authentications_total: count, connections_total: count }),
  vpn: z.object({ pulls_total: count }),
} satisfies Record<keyof AgentMetrics, z.ZodType>;

/** The metrics of a machine: the fields of `HostMetricsResource`. */
export const HostMetricsView: z.ZodType<HostMetricsResource> = z
  .object({ ...measured, ...hostParts })
  .meta({ id: 'HostMetrics', description: 'What a machine measures, read when it was asked for.' });

/** The metrics of an agent: the fields of `AgentMetricsResource`. */
export const AgentMetricsView: z.ZodType<AgentMetricsResource> = z
  .object({ ...measured, ...agentParts })
  .meta({ id: 'AgentMetrics', description: 'What an agent measures of itself, read when it was asked for.' });

/** Both: the fields of `NodeMetricsResource`. */
export const NodeMetricsView: z.ZodType<NodeMetricsResource> = z
  .object({ ...measured, host: attempted(hostParts), agent: attempted(agentParts) })
  .meta({
    id: 'NodeMetrics',
    description: 'What a node measures, as far as it could be read.',
  }) as unknown as z.ZodType<NodeMetricsResource>;

/** The parts of a source that may fail: all of them or none are null. */
function attempted(parts: Readonly<Record<string, z.ZodType>>) {
  const nullable = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.nullable()]));
  return z.object({
    available: z.boolean().describe('False: it could not be read, and all of its parts are null.'),
    ...nullable,
  });
}
