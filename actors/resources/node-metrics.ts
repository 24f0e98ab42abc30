/**
 * What is measured at nodes, as clients see it. Every leaf is null where the node does not tell it, and never zero
 * instead. Source: docs/metrics.md.
 */
import { z } from 'zod';
import { HISTORY_LISTS } from '../../transport/protocol/metrics-history.ts';
import { resource, type Given } from './resource.ts';

/** What can be scraped of a node. */
export const METRICS_SOURCES = ['host', 'agent', 'wireguard'] as const;
/** One of them. */
export type MetricsSource = (typeof METRICS_SOURCES)[number];

const count = z.int().nullable();
const number = z.number().nullable();
const text = z.string().nullable();
const counts = z.record(z.string(), z.int()).nullable();

const measured = {
  node_id: z.uuid(),
  cluster_name: z.string(),
  timestamp: z.iso.datetime().describe('When the node was asked.'),
};
/** Of which node, and when it was asked. */
export type MeasuredNode = Given<z.ZodObject<typeof measured>>;

/**
 * `available` counts what can be had at once, such as buffers and caches; `used` is the rest. GB are 2^30 bytes.
 */
const space = z.object({
  total_bytes: count,
  available_bytes: count,
  used_bytes: count,
  total_gb: number,
  available_gb: number,
  used_gb: number,
  usage_percent: number.describe('(total - available) / total * 100.'),
});
/** Bytes of something that fills up. */
export type SpaceMetrics = Given<typeof space>;

const hostParts = {
  cpu: z.object({ cores: count, load_1m: number, load_5m: number, load_15m: number }),
  memory: space,
  disk: space.describe('Of the root filesystem.'),
  uptime: z.object({ seconds: count, human: text }),
};
/** A machine. */
export type HostMetrics = Given<z.ZodObject<typeof hostParts>>;

const queue = z.object({
  queue: z.string(),
  available: count,
  completed: count,
  discarded: count,
  executing: count,
  retryable: count,
});
/** Executions of one queue of an agent, by where they are. */
export type QueueMetrics = Given<typeof queue>;

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
  oban_queues: z.array(queue),
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
};
/** An agent. MB are 2^20 bytes. */
export type AgentMetrics = Given<z.ZodObject<typeof agentParts>>;

/** The metrics of a node's machine. */
export const HostMetricsResource = resource('HostMetrics', 'What a machine measures, read when it was asked for.', {
  ...measured,
  ...hostParts,
});
export type HostMetricsResource = z.output<typeof HostMetricsResource>;

/** The metrics of a node's agent. */
export const AgentMetricsResource = resource(
  'AgentMetrics',
  'What an agent measures of itself, read when it was asked for.',
  { ...measured, ...agentParts },
);
export type AgentMetricsResource = z.output<typeof AgentMetricsResource>;

/** A source that was asked along with others: all of its parts are null where it could not be read. */
export type Attempted<Parts> =
  | ({ readonly available: true } & Parts)
  | ({ readonly available: false } & { readonly [Part in keyof Parts]: null });

/** Both, as far as each could be had. */
export const NodeMetricsResource = resource('NodeMetrics', 'What a node measures, as far as it could be read.', {
  ...measured,
  host: attempted<HostMetrics>(hostParts),
  agent: attempted<AgentMetrics>(agentParts),
});
export type NodeMetricsResource = z.output<typeof NodeMetricsResource>;

/** What a node measured lately. */
export const NodeMetricsHistoryResource = resource(
  'NodeMetricsHistory',
  'What a node measured in the last hour, or since its agent started: a value for each point, null where it was not told.',
  {
    ...measured,
    interval_seconds: z.number().describe('From one point to the next; more where nothing was measured.'),
    at: z
      .array(z.iso.datetime())
      .describe('When each point was measured, the oldest first, by the clock of the admin.'),
    ...HISTORY_LISTS,
  },
);
export type NodeMetricsHistoryResource = z.output<typeof NodeMetricsHistoryResource>;

/** The parts of a source that may fail: all of them or none are null. */
function attempted<Parts>(parts: Readonly<Record<keyof Parts, z.ZodType>>): z.ZodType<Attempted<Parts>> {
  const nullable = Object.fromEntries(Object.entries<z.ZodType>(parts).map(([name, part]) => [name, part.nullable()]));
  return z.object({
    available: z.boolean().describe('False: it could not be read, and all of its parts are null.'),
    ...nullable,
  });
}
