/** Sources of metrics that a test sets as it likes. */
import { ConsoleCounters } from '../../../api/console/counters.ts';
import { ObservedHistogram } from '../../../transport/net/histogram.ts';
import { createAdminMetrics, type AdminMetrics } from '../../../api/metrics/admin-metrics.ts';
import type { LiveReadings, MetricSources, TotalReadings } from '../../../api/metrics/sources.ts';

const NOT_ENDED = { exited: 0, refused: 0, cut: 0, idle: 0, old: 0, session_over: 0, stopping: 0, misused: 0 };

/** An admin at rest: everything is there, and nothing happened. */
export function restingReadings(): LiveReadings {
  const actors = { count: 0, messages: 0, messagesMax: 0 };
  const scrapes = () => ({ outcomes: { ok: 0 }, durations: new ObservedHistogram([1]) });
  return {
    sessions: { open: 0, opened: 0, cut: 0, frames: { in: { hello: 0 }, out: { welcome: 0 } } },
    actors: { node: actors, cluster: actors, command: actors, webhook: actors, 'self-update': actors },
    deadLetters: 0,
    crashes: 0,
    escalations: 0,
    commits: {
      durations: new ObservedHistogram([0.1, 1]),
      sizes: new ObservedHistogram([1, 10]),
      waiting: 0,
      refused: 0,
      failed: 0,
    },
    updateTriggers: new ObservedHistogram([1]),
    ended: { completed: 0, cancelled: 0, expired: 0, dropped: 0 },
    database: { busy: 0, idle: 0, waiting: 0 },
    console: new ConsoleCounters().readings(),
    terminals: { open: 0, opened: 0, ended: { ...NOT_ENDED }, bytes: { up: 0, down: 0 } },
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
    releases: { active: 0, started: 0, bytes: 0, refused: 0, cut: 0 },
    tls: { expiresAtMs: 0, isRefused: false, reloads: 0, plainHttp: 0, failedHandshakes: 0 },
    forwarding: {
      in: { answered: 0 },
      out: { answered: 0 },
      durations: [{ operation: 'delete_node', outcome: 'ok', durations: new ObservedHistogram([1]) }],
      takenDurations: [{ operation: 'delete_node', outcome: 'ok', durations: new ObservedHistogram([1]) }],
    },
    ownership: { clusters: 0, gained: 0, lost: 0, leaseAgeMs: 0, isDegraded: false, handOvers: handOversOf(null) },
    adminLinks: {
      links: [{ id: 'b-id', name: 'b', state: { type: 'reached', sinceMs: 0 }, latencyMs: 1 }],
      callsOpen: 0,
      callsDetoured: 0,
      news: { in: { connections: 0, notices: 0, missed: 0 }, out: { connections: 0, notices: 0, missed: 0 } },
      passedOn: {
        tunnels: { opening: 0, carried: 0, outcomes: { carried: 0 } },
        sessions: { opening: 0, carried: 0, outcomes: { carried: 0 } },
      },
    },
    encryption: { keys: 1, sealed: 0, unreadable: 0, isDone: true },
    listener: { silentMs: 0, lost: 0 },
  };
}

/** An empty database. */
export const NO_ROWS: TotalReadings = {
  nodes: { healthy: 0, unhealthy: 0, unreachable: 0 },
  executions: { pending: 0, sent: 0 },
  webhooksBacklog: 0,
  brokerBacklog: 0,
  deliveriesPending: 0,
  consoleSessions: 0,
  releases: { expiresAtMs: 0, storedBytes: 0 },
  selfUpdates: {
    requests: { pending: 0, processing: 0, completed: 0 },
    nodes: { waiting: 0, due: 0, triggered: 0, updated: 0, rolled_back: 0, failed: 0, skipped: 0 },
    overdueS: 0,
  },
  tasks: [],
  admins: [{ name: 'one', status: 'live', silentMs: 0 }],
  owned: [{ cluster_name: 'first', epoch: 1, owned_since: '2026-01-15T10:00:00.000Z' }],
};

/** Sources of an admin at rest, but for what is given. */
export function fakeSources(sources: Partial<MetricSources> = {}): MetricSources {
  return { version: '0.0.0-test', name: 'one', live: restingReadings, totals: async () => NO_ROWS, ...sources };
}

/** Metrics of an admin at rest. */
export function fakeAdminMetrics(): AdminMetrics {
  return createAdminMetrics(fakeSources());
}

/** Every reading has a number of its own, so that none is told under the name of another. */
export function distinctReadings(): LiveReadings {
  const durations = new ObservedHistogram([1, 2]);
  durations.observe(1.5);
  const sizes = new ObservedHistogram([10]);
  sizes.observe(7);
  const waits = new ObservedHistogram([10]);
  waits.observe(110);
  return {
    sessions: { open: 1, opened: 2, cut: 3, frames: { in: { hello: 4 }, out: { welcome: 5 } } },
    actors: {
      node: { count: 6, messages: 7, messagesMax: 8 },
      cluster: { count: 9, messages: 10, messagesMax: 11 },
      command: { count: 12, messages: 13, messagesMax: 14 },
      webhook: { count: 15, messages: 16, messagesMax: 17 },
      'self-update': { count: 90, messages: 91, messagesMax: 92 },
    },
    console: { connections: 301, signIns: { wrong_key: 302 } },
    terminals: { open: 93, opened: 94, ended: { ...NOT_ENDED, exited: 95 }, bytes: { up: 96, down: 97 } },
    deadLetters: 18,
    crashes: 19,
    escalations: 20,
    commits: { durations, sizes, waiting: 21, refused: 22, failed: 23 },
    updateTriggers: waits,
    ended: { completed: 24, cancelled: 25, expired: 26, dropped: 27 },
    database: { busy: 28, idle: 29, waiting: 30 },
    tunnels: { open: 31, opened: { mesh: 32, url: 55 } },
    gateway: { joined: 56, leftOut: 57, peers: { relayed: 58 } },
    observer: { ports: { open: 65 }, members: 66, packets: { seen: 67 }, told: 68, shut: 69 },
    relay: { clients: 59, opened: 60, refused: { unknown: 61 }, packets: 62, bytes: 63, dropped: { absent: 64 } },
    proxies: {
      http: { connections: 33, blocked: { credentials: 34 } },
      socks5: { connections: 35, blocked: { slow: 36 } },
      bytes: { up: 37, down: 38 },
      open: 39,
      closed: { normal: 40 },
      reach: { forward: { connected: 41 }, chain: { offline: 42 } },
    },
    sshLogins: { accepted: 43 },
    webhookDeliveries: { '2xx': 44 },
    broker: { published: 45, tooOld: 46, failures: 47, isUp: true },
    scrapes: {
      host: { outcomes: { ok: 48 }, durations },
      agent: { outcomes: { ok: 49 }, durations },
      wireguard: { outcomes: { ok: 50 }, durations },
    },
    traces: { exported: 53, dropped: 54 },
    releases: { active: 201, started: 202, bytes: 203, refused: 204, cut: 205 },
    tls: { expiresAtMs: 95_000, isRefused: true, reloads: 96, plainHttp: 97, failedHandshakes: 98 },
    forwarding: {
      in: { answered: 55 },
      out: { lost: 56 },
      durations: [{ operation: 'delete_node', outcome: 'ok', durations }],
      takenDurations: [{ operation: 'delete_alias', outcome: 'conflict', durations: sizes }],
    },
    ownership: { clusters: 51, gained: 70, lost: 71, leaseAgeMs: 52_000, isDegraded: true, handOvers: handOversOf(91) },
    adminLinks: {
      links: [
        { id: 'b', name: 'b', state: { type: 'reached', sinceMs: 72_000 }, latencyMs: 73_000 },
        { id: 'c', name: 'c', state: { type: 'unreached', sinceMs: 74_000, why: 'is away' }, latencyMs: 75_000 },
        { id: 'd', name: 'd', state: { type: 'unknown' }, latencyMs: null },
      ],
      callsOpen: 76,
      callsDetoured: 98,
      news: { in: { connections: 77, notices: 78, missed: 79 }, out: { connections: 80, notices: 81, missed: 82 } },
      passedOn: {
        tunnels: { opening: 83, carried: 84, outcomes: { failed: 85 } },
        sessions: { opening: 93, carried: 94, outcomes: { full: 95 } },
      },
    },
    encryption: { keys: 2, sealed: 100, unreadable: 101, isDone: false },
    listener: { silentMs: 86_000, lost: 87 },
  };
}

/** Numbers from this one on; null: nothing was handed over. */
function handOversOf(from: number | null): LiveReadings['ownership']['handOvers'] {
  const at = (place: number): number => (from === null ? 0 : from + place);
  return {
    given: { balance: at(0), room: at(1), drain: at(2), stop: at(3) },
    received: at(4),
    stayed: at(5),
    durations: new ObservedHistogram([1]),
  };
}
