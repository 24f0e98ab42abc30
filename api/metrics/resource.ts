/** Readings of an admin as one object. */
import type { z } from 'zod';
import type { Histogram } from '../../transport/net/histogram.ts';
import { METRICS_SOURCES } from '../../actors/resources/node-metrics.ts';
import type { AdminMetricsView } from '../views/admin-metrics.ts';
import type { Readings } from './family.ts';
import { meanOf, quantileOf } from './quantiles.ts';
import type { Counts, LiveReadings, ProxyReadings } from './sources.ts';

/** The metrics of an admin: the fields of AdminMetricsView. */
export type AdminMetricsResource = z.output<typeof AdminMetricsView>;

/** The object. `ofProcess` are the metrics of prom-client by name. */
export function describe(
  { name, version, live, totals, requests }: Readings,
  ofProcess: Readonly<Record<string, number>>,
  nowMs: number,
): AdminMetricsResource {
  const { sessions, commits, ended, database, tunnels } = live;
  return {
    name,
    version,
    timestamp: new Date(nowMs).toISOString(),
    ...processSections(ofProcess, nowMs),
    actors: actorsSection(live),
    commits: commitsOf(commits),
    events: { webhooks_backlog: totals?.webhooksBacklog ?? null, broker_backlog: totals?.brokerBacklog ?? null },
    sessions: sessionsOf(sessions),
    executions: {
      pending: totals?.executions?.pending ?? null,
      sent: totals?.executions?.sent ?? null,
      completed_total: ended.completed,
      cancelled_total: ended.cancelled,
      expired_total: ended.expired,
      dropped_total: ended.dropped,
    },
    nodes: {
      healthy: totals?.nodes?.healthy ?? null,
      unhealthy: totals?.nodes?.unhealthy ?? null,
      unreachable: totals?.nodes?.unreachable ?? null,
    },
    requests: requestsOf(requests),
    database: {
      available: totals !== null,
      connections_busy: database.busy,
      connections_idle: database.idle,
      connections_waiting: database.waiting,
    },
    tunnels: { open: tunnels.open, opened_total: sum(tunnels.opened), opened_by_path: { ...tunnels.opened } },
    mesh: vpnOf(live.gateway),
    observer: observerOf(live.observer),
    relay: relayOf(live.relay),
    proxies: live.proxies === null ? null : proxiesOf(live.proxies),
    ssh: { logins_total: sum(live.sshLogins), logins_by_outcome: { ...live.sshLogins } },
    webhooks: {
      deliveries_pending: totals?.deliveriesPending ?? null,
      tries_total: sum(live.webhookDeliveries),
      tries_by_outcome: { ...live.webhookDeliveries },
    },
    broker: brokerOf(live.broker),
    scrapes: Object.fromEntries(
      METRICS_SOURCES.map((source) => [source, scrapesOf(live.scrapes[source])]),
    ) as AdminMetricsResource['scrapes'],
    ownership: ownershipOf(live),
    peers: peersOf(live),
  };
}

function processSections(
  ofProcess: Readonly<Record<string, number>>,
  nowMs: number,
): Pick<AdminMetricsResource, 'process' | 'event_loop' | 'memory'> {
  const process = (metric: string): number | null => ofProcess[metric] ?? null;
  const startedSeconds = process('process_start_time_seconds');
  return {
    process: {
      uptime_seconds: startedSeconds === null ? null : Math.max(0, nowMs / 1_000 - startedSeconds),
      cpu_seconds_total: process('process_cpu_seconds_total'),
      open_files: process('process_open_fds'),
      open_files_max: process('process_max_fds'),
    },
    event_loop: {
      lag_mean_seconds: process('nodejs_eventloop_lag_mean_seconds'),
      lag_p50_seconds: process('nodejs_eventloop_lag_p50_seconds'),
      lag_p99_seconds: process('nodejs_eventloop_lag_p99_seconds'),
      lag_max_seconds: process('nodejs_eventloop_lag_max_seconds'),
    },
    memory: {
      resident_bytes: process('process_resident_memory_bytes'),
      heap_used_bytes: process('nodejs_heap_size_used_bytes'),
      heap_total_bytes: process('nodejs_heap_size_total_bytes'),
      external_bytes: process('nodejs_external_memory_bytes'),
    },
  };
}

function actorsSection(live: LiveReadings): AdminMetricsResource['actors'] {
  return {
    node: actorsOf(live.actors.node),
    cluster: actorsOf(live.actors.cluster),
    command: actorsOf(live.actors.command),
    webhook: actorsOf(live.actors.webhook),
    dead_letters_total: live.deadLetters,
    crashes_total: live.crashes,
    escalations_total: live.escalations,
  };
}

function commitsOf(commits: LiveReadings['commits']): AdminMetricsResource['commits'] {
  return {
    waiting: commits.waiting,
    batches_total: commits.sizes.count,
    changes_total: commits.sizes.sum,
    refused_total: commits.refused,
    failed_total: commits.failed,
    changes_mean: meanOf(commits.sizes),
    ...durationsOf(commits.durations),
  };
}

function sessionsOf(sessions: LiveReadings['sessions']): AdminMetricsResource['sessions'] {
  return {
    open: sessions.open,
    opened_total: sessions.opened,
    cut_total: sessions.cut,
    frames_in_total: sum(sessions.frames.in),
    frames_out_total: sum(sessions.frames.out),
    frames_in_by_type: { ...sessions.frames.in },
    frames_out_by_type: { ...sessions.frames.out },
  };
}

function vpnOf(gateway: LiveReadings['gateway']): AdminMetricsResource['mesh'] {
  return gateway === null
    ? null
    : { networks_joined: gateway.joined, networks_left_out: gateway.leftOut, peers_by_path: { ...gateway.peers } };
}

function observerOf(observer: LiveReadings['observer']): AdminMetricsResource['observer'] {
  return observer === null
    ? null
    : {
        ports_by_state: { ...observer.ports },
        members: observer.members,
        packets_by_outcome: { ...observer.packets },
        told_total: observer.told,
        shut_total: observer.shut,
      };
}

function relayOf(relay: LiveReadings['relay']): AdminMetricsResource['relay'] {
  return relay === null
    ? null
    : {
        clients: relay.clients,
        opened_total: relay.opened,
        refused_by_reason: { ...relay.refused },
        packets_total: relay.packets,
        bytes_total: relay.bytes,
        dropped_by_reason: { ...relay.dropped },
      };
}

function brokerOf(broker: LiveReadings['broker']): AdminMetricsResource['broker'] {
  return broker === null
    ? null
    : {
        up: broker.isUp,
        published_total: broker.published,
        too_old_total: broker.tooOld,
        failures_total: broker.failures,
      };
}

function ownershipOf({ ownership }: LiveReadings): AdminMetricsResource['ownership'] {
  const { given, received, stayed } = ownership.handOvers;
  return {
    clusters: ownership.clusters,
    gained_total: ownership.gained,
    lost_total: ownership.lost,
    handed_over_by_reason: { ...given },
    received_total: received,
    stayed_total: stayed,
    lease_age_seconds: ownership.leaseAgeMs / 1_000,
    degraded: ownership.isDegraded,
  };
}

function peersOf({ adminLinks, forwarding, listener }: LiveReadings): AdminMetricsResource['peers'] {
  const { links, callsOpen, callsDetoured, news, passedOn } = adminLinks;
  return {
    links: links.map(({ name, state, latencyMs }) => ({
      admin: name,
      state: state.type,
      since: 'sinceMs' in state ? new Date(state.sinceMs).toISOString() : null,
      latency_seconds: state.type === 'reached' && latencyMs !== null ? latencyMs / 1_000 : null,
    })),
    calls_open: callsOpen,
    calls_detoured_total: callsDetoured,
    calls_in_by_outcome: { ...forwarding.in },
    calls_out_by_outcome: { ...forwarding.out },
    news_connections_in: news.in.connections,
    news_connections_out: news.out.connections,
    news_missed_in_total: news.in.missed,
    news_missed_out_total: news.out.missed,
    tunnels_passed_on: passedOn.tunnels.carried,
    tunnels_passed_on_by_outcome: { ...passedOn.tunnels.outcomes },
    sessions_passed_on: passedOn.sessions.carried,
    sessions_passed_on_by_outcome: { ...passedOn.sessions.outcomes },
    listener_silence_seconds: listener.silentMs / 1_000,
    listener_losses_total: listener.lost,
  };
}

function actorsOf({
  count,
  messages,
  messagesMax,
}: LiveReadings['actors']['node']): AdminMetricsResource['actors']['node'] {
  return { count, mailbox_messages: messages, mailbox_messages_max: messagesMax };
}

function requestsOf(requests: Readings['requests']): AdminMetricsResource['requests'] {
  return {
    total: requests.reduce((total, { durations }) => total + durations.count, 0),
    errors_total: requests.reduce((total, { code, durations }) => total + (code === '5xx' ? durations.count : 0), 0),
    by_operation: requests.map(({ surface, operation, code, durations }) => ({
      surface,
      operation,
      code,
      count: durations.count,
      ...durationsOf(durations),
    })),
  };
}

function proxiesOf({
  http,
  socks5,
  bytes,
  open,
  closed,
  reach,
}: ProxyReadings): NonNullable<AdminMetricsResource['proxies']> {
  const one = ({ connections, blocked }: ProxyReadings['http']) => ({
    connections_total: connections,
    blocked_total: sum(blocked),
    blocked_by_reason: { ...blocked },
  });
  return {
    http: one(http),
    socks5: one(socks5),
    bytes_up_total: bytes.up,
    bytes_down_total: bytes.down,
    tunnels_open: open,
    tunnels_closed_by_reason: { ...closed },
    reach_forward_by_outcome: { ...reach.forward },
    reach_chain_by_outcome: { ...reach.chain },
  };
}

function scrapesOf({ outcomes, durations }: LiveReadings['scrapes']['host']): AdminMetricsResource['scrapes']['host'] {
  return { by_outcome: { ...outcomes }, ...durationsOf(durations) };
}

function durationsOf(durations: Histogram): {
  readonly duration_mean_seconds: number | null;
  readonly duration_p99_seconds: number | null;
} {
  return { duration_mean_seconds: meanOf(durations), duration_p99_seconds: quantileOf(durations, 0.99) };
}

function sum(counts: Counts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
