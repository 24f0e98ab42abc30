/** Sources of metrics that a test sets as it likes. */
import { createHistogram } from '../../transport/net/histogram.ts';
import { createAdminMetrics, type AdminMetrics } from '../../api/metrics/admin-metrics.ts';
import type { LiveReadings, MetricSources, TotalReadings } from '../../api/metrics/sources.ts';

/** An admin at rest: everything is there, and nothing happened. */
export function restingReadings(): LiveReadings {
  const actors = { count: 0, messages: 0, messagesMax: 0 };
  const scrapes = () => ({ outcomes: { ok: 0 }, durations: createHistogram([1]) });
  return {
    sessions: { open: 0, opened: 0, cut: 0, frames: { in: { hello: 0 }, out: { welcome: 0 } } },
    actors: { node: actors, cluster: actors, command: actors, webhook: actors },
    deadLetters: 0,
    crashes: 0,
    escalations: 0,
    commits: {
      durations: createHistogram([0.1, 1]),
      sizes: createHistogram([1, 10]),
      waiting: 0,
      refused: 0,
      failed: 0,
    },
    ended: { completed: 0, cancelled: 0, expired: 0, dropped: 0 },
    database: { busy: 0, idle: 0, waiting: 0 },
    tunnels: { open: 0, opened: { mesh: 0, url: 0 } },
    gateway: { joined: 0, leftOut: 0, peers: { direct: 0 } },
    observer: { ports: { open: 0 }, members: 0, packets: { seen: 0 }, told: 0, shut: 0 },
    relay: { clients: 0, opened: 0, refused: { unknown: 0 }, packets: 0, bytes: 0, dropped: { absent: 0 } },
    proxies: {
      http: { connections: 0, blocked: { credentials: 0 } },
      socks5: { connections: 0, blocked: { credentials: 0 } },
      bytes: { up: 0, down: 0 },
      open: 0,
      closed: { normal: 0 },
      reach: { forward: { connected: 0 }, chain: { connected: 0 } },
    },
    sshLogins: { accepted: 0 },
    webhookDeliveries: { '2xx': 0 },
    broker: { published: 0, tooOld: 0, failures: 0, isUp: true },
    scrapes: { host: scrapes(), agent: scrapes(), wireguard: scrapes() },
    traces: { exported: 0, dropped: 0 },
    forwarding: {
      in: { answered: 0 },
      out: { answered: 0 },
      durations: new Map([['delete_node', createHistogram([1])]]),
    },
    ownership: { clusters: 0, leaseAgeMs: 0, isDegraded: false },
  };
}

/** An empty database. */
export const NO_ROWS: TotalReadings = {
  nodes: { healthy: 0, unhealthy: 0, unreachable: 0 },
  executions: { pending: 0, sent: 0 },
  webhooksBacklog: 0,
  brokerBacklog: 0,
  deliveriesPending: 0,
  tasks: [],
};

/** Sources of an admin at rest, but for what is given. */
export function fakeSources(sources: Partial<MetricSources> = {}): MetricSources {
  return { version: '0.0.0-test', name: 'one', live: restingReadings, totals: async () => NO_ROWS, ...sources };
}

/** Metrics of an admin at rest. */
export function fakeAdminMetrics(): AdminMetrics {
  return createAdminMetrics(fakeSources());
}
