/** The metrics of an agent as a record. Which field is which metric, and which have none: docs/metrics.md. */
import type { AgentMetrics, QueueMetrics } from '../../actors/resources/node-metrics.ts';
import type { Samples } from '../net/exposition/samples.ts';
import { RECORD_ENTRIES_MAX, RECORD_NAME_CHARACTERS_MAX } from './limits.ts';
import { count, countOf, humanDuration, megabytes, sum } from './quantities.ts';

const MEMORY = 'edge_agent_memory_bytes';
const QUEUES = 'edge_agent_queue_executions';
const BLOCKED = 'edge_agent_proxy_blocked_total';
const CLOSED = 'edge_agent_proxy_tunnels_closed_total';

/** The metrics that it is made of. */
export const AGENT_FAMILIES: ReadonlySet<string> = new Set([
  MEMORY,
  QUEUES,
  BLOCKED,
  CLOSED,
  'edge_agent_uptime_seconds',
  'edge_agent_processes',
  'edge_agent_executions_enqueued_total',
  'edge_agent_executions_completed_total',
  'edge_agent_executions_reported_total',
  'edge_agent_executions_synced_total',
  'edge_agent_admin_scans_total',
  'edge_agent_admins_found',
  'edge_agent_proxy_bytes_total',
  'edge_agent_proxy_connections_total',
  'edge_agent_ssh_authentications_total',
  'edge_agent_ssh_connections_total',
]);

/** The record. */
export function agentMetrics(samples: Samples): AgentMetrics {
  const number = (name: string) => countOf(samples, name);
  return {
    application: application(samples),
    commands: {
      completed_total: number('edge_agent_executions_completed_total'),
      enqueued_total: number('edge_agent_executions_enqueued_total'),
      reported_total: number('edge_agent_executions_reported_total'),
      synced_total: number('edge_agent_executions_synced_total'),
    },
    discovery: {
      admins_found_last: number('edge_agent_admins_found'),
      scans_total: number('edge_agent_admin_scans_total'),
    },
    health_check: { reports_total: null },
    oban_queues: queues(samples),
    proxy: proxy(samples),
    ssh: {
      authentications_total: number('edge_agent_ssh_authentications_total'),
      connections_total: number('edge_agent_ssh_connections_total'),
    },
    vpn: { pulls_total: null },
  };
}

function application(samples: Samples): AgentMetrics['application'] {
  const memory = (kind: string) => countOf(samples, MEMORY, { kind });
  const [binary, ets, processes, total] = [
    memory('array_buffers'),
    memory('external'),
    memory('heap'),
    memory('resident'),
  ];
  const uptime = countOf(samples, 'edge_agent_uptime_seconds');
  return {
    memory_binary_bytes: binary,
    memory_binary_mb: megabytes(binary),
    memory_ets_bytes: ets,
    memory_ets_mb: megabytes(ets),
    memory_processes_bytes: processes,
    memory_processes_mb: megabytes(processes),
    memory_total_bytes: total,
    memory_total_mb: megabytes(total),
    process_count: countOf(samples, 'edge_agent_processes'),
    uptime_seconds: uptime,
    uptime_human: humanDuration(uptime),
  };
}

function queues(samples: Samples): readonly QueueMetrics[] {
  const byQueue = Map.groupBy(samples.get(QUEUES) ?? [], ({ labels }) => labels.get('queue') ?? '');
  return [...byQueue]
    .filter(([queue]) => isName(queue))
    .slice(0, RECORD_ENTRIES_MAX)
    .map(([queue, own]) => {
      const state = (name: string) => countOf(new Map([[QUEUES, own]]), QUEUES, { state: name });
      return {
        queue,
        available: state('available'),
        completed: state('completed'),
        discarded: state('discarded'),
        executing: state('executing'),
        retryable: state('retryable'),
      };
    });
}

function proxy(samples: Samples): AgentMetrics['proxy'] {
  const bytes = (direction: string) => countOf(samples, 'edge_agent_proxy_bytes_total', { direction });
  const connections = (kind: string) => countOf(samples, 'edge_agent_proxy_connections_total', { proxy: kind });
  const closed = (reason: string) => countOf(samples, CLOSED, { reason });
  const ofProxy = (kind: string) => ({
    connections: connections(kind),
    ...blocked(samples, kind, connections(kind) !== null),
  });
  const [http, socks5] = [ofProxy('http'), ofProxy('socks5')];
  return {
    bytes_up_total: bytes('up'),
    bytes_down_total: bytes('down'),
    bytes_up_mb: megabytes(bytes('up')),
    bytes_down_mb: megabytes(bytes('down')),
    http_connections_total: http.connections,
    http_blocked_total: http.total,
    http_blocked_by_reason: http.byReason,
    socks5_connections_total: socks5.connections,
    socks5_blocked_total: socks5.total,
    socks5_blocked_by_reason: socks5.byReason,
    tunnels_closed_total: sum(samples.get(CLOSED)?.map(({ value }) => count(value)) ?? []),
    tunnels_closed_normal_total: closed('normal'),
    tunnels_closed_deadline_total: closed('deadline'),
    tunnels_closed_drain_timeout_total: closed('drain_timeout'),
  };
}

/**
 * Reasons are the agent's words, and keys here: as many as an honest one has. An agent that counts what comes to the
 * proxy has a reason only for what it turned away.
 */
function blocked(
  samples: Samples,
  kind: string,
  isCounted: boolean,
): { readonly total: number | null; readonly byReason: Readonly<Record<string, number>> | null } {
  const counts =
    samples.get(BLOCKED)?.flatMap(({ labels, value }) => {
      const number = Number.isFinite(value) ? count(value) : null;
      return labels.get('proxy') !== kind || number === null ? [] : [[labels.get('reason') ?? '', number] as const];
    }) ?? [];
  if (counts.length === 0) return isCounted ? { total: 0, byReason: {} } : { total: null, byReason: null };
  return {
    total: sum(counts.map(([, number]) => number)),
    byReason: Object.fromEntries(counts.filter(([reason]) => isName(reason)).slice(0, RECORD_ENTRIES_MAX)),
  };
}

/** A word as agents have them, and never an address (R3). */
function isName(word: string): boolean {
  return word.length <= RECORD_NAME_CHARACTERS_MAX && /^[a-z_]\w*$/iu.test(word);
}
