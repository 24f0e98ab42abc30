/**
 * What is measured at nodes, as records. Every leaf is null where the node does not tell it, and never zero instead.
 * Source: spec.md, metrics records.
 */

/** What can be scraped of a node. */
export const METRICS_SOURCES = ['host', 'agent', 'wireguard'] as const;

/** One of them. */
export type MetricsSource = (typeof METRICS_SOURCES)[number];

/**
 * Bytes of something that fills up. `available` counts what can be had at once, such as buffers and caches; `used` is
 * the rest. GB are 2^30 bytes.
 */
export interface SpaceMetrics {
  readonly total_bytes: number | null;
  readonly available_bytes: number | null;
  readonly used_bytes: number | null;
  readonly total_gb: number | null;
  readonly available_gb: number | null;
  readonly used_gb: number | null;
  readonly usage_percent: number | null;
}

/** A machine. `disk` is its root filesystem. */
export interface HostMetrics {
  readonly cpu: {
    readonly cores: number | null;
    readonly load_1m: number | null;
    readonly load_5m: number | null;
    readonly load_15m: number | null;
  };
  readonly memory: SpaceMetrics;
  readonly disk: SpaceMetrics;
  readonly uptime: { readonly seconds: number | null; readonly human: string | null };
}

/** Executions of one queue of an agent, by where they are. */
export interface QueueMetrics {
  readonly queue: string;
  readonly available: number | null;
  readonly completed: number | null;
  readonly discarded: number | null;
  readonly executing: number | null;
  readonly retryable: number | null;
}

/** An agent. MB are 2^20 bytes. */
export interface AgentMetrics {
  readonly application: {
    readonly memory_binary_bytes: number | null;
    readonly memory_binary_mb: number | null;
    readonly memory_ets_bytes: number | null;
    readonly memory_ets_mb: number | null;
    readonly memory_processes_bytes: number | null;
    readonly memory_processes_mb: number | null;
    readonly memory_total_bytes: number | null;
    readonly memory_total_mb: number | null;
    readonly process_count: number | null;
    readonly uptime_seconds: number | null;
    readonly uptime_human: string | null;
  };
  readonly commands: {
    readonly completed_total: number | null;
    readonly enqueued_total: number | null;
    readonly reported_total: number | null;
    readonly synced_total: number | null;
  };
  readonly discovery: { readonly admins_found_last: number | null; readonly scans_total: number | null };
  readonly health_check: { readonly reports_total: number | null };
  readonly oban_queues: readonly QueueMetrics[];
  readonly proxy: {
    readonly bytes_up_total: number | null;
    readonly bytes_down_total: number | null;
    readonly bytes_up_mb: number | null;
    readonly bytes_down_mb: number | null;
    readonly http_connections_total: number | null;
    readonly http_blocked_total: number | null;
    readonly http_blocked_by_reason: Readonly<Record<string, number>> | null;
    readonly socks5_connections_total: number | null;
    readonly socks5_blocked_total: number | null;
    readonly socks5_blocked_by_reason: Readonly<Record<string, number>> | null;
    readonly tunnels_closed_total: number | null;
    readonly tunnels_closed_normal_total: number | null;
    readonly tunnels_closed_deadline_total: number | null;
    readonly tunnels_closed_drain_timeout_total: number | null;
  };
  readonly ssh: { readonly authentications_total: number | null; readonly connections_total: number | null };
  readonly vpn: { readonly pulls_total: number | null };
}

/** Of which node, and when it was asked. */
export interface MeasuredNode {
  readonly node_id: string;
  readonly cluster_name: string;
  readonly timestamp: string;
}

/** The metrics of a node's machine. */
export type HostMetricsResource = MeasuredNode & HostMetrics;

/** The metrics of a node's agent. */
export type AgentMetricsResource = MeasuredNode & AgentMetrics;

/** A source that was asked along with others: all of its parts are null where it could not be read. */
export type Attempted<Parts> =
  | ({ readonly available: true } & Parts)
  | ({ readonly available: false } & { readonly [Part in keyof Parts]: null });

/** Both, as far as each could be had. */
export type NodeMetricsResource = MeasuredNode & {
  readonly host: Attempted<HostMetrics>;
  readonly agent: Attempted<AgentMetrics>;
};
