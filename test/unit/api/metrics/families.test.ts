import test from 'ava';
import { ObservedHistogram } from '../../../../transport/net/histogram.ts';
import { FAMILIES } from '../../../../api/metrics/families.ts';
import { type Readings } from '../../../../api/metrics/family.ts';
import { distinctReadings, NO_ROWS, restingReadings } from '../../../support/observability/metric-sources.ts';

function samplesOf(readings: Partial<Readings>): Readonly<Record<string, number>> {
  const all: Readings = {
    version: '1.2.3',
    name: 'one',
    live: restingReadings(),
    totals: NO_ROWS,
    requests: [],
    ...readings,
  };
  return Object.fromEntries(
    FAMILIES.flatMap((family) =>
      family.read(all).map(({ labels, value }): [string, number] => [
        `${family.name.slice('edge_admin_'.length)}${Object.entries(labels)
          .map(([label, of]) => ` ${label}=${of}`)
          .join('')}`,
        typeof value === 'number' ? value : value.sum,
      ]),
    ),
  );
}

/** Samples of one family by these values of its label, the first with this number, each other one `step` higher. */
const rising = (name: string, values: string, first: number, step = 1): Record<string, number> =>
  Object.fromEntries(values.split(' ').map((value, index) => [`${name}=${value}`, first + index * step]));

test('every reading is told under its own name', (t) => {
  const durations = new ObservedHistogram([1]);
  durations.observe(0.25);
  const totals = {
    nodes: { healthy: 60, unhealthy: 61, unreachable: 62 },
    executions: { pending: 63, sent: 64 },
    webhooksBacklog: 65,
    brokerBacklog: 66,
    deliveriesPending: 67,
    consoleSessions: 303,
    releases: { expiresAtMs: 206_000, storedBytes: 207 },
    selfUpdates: {
      requests: { pending: 111, processing: 112, completed: 113 },
      nodes: { waiting: 114, due: 115, triggered: 116, updated: 117, rolled_back: 118, failed: 119, skipped: 120 },
      overdueS: 121,
    },
    tasks: [
      { task: 'sweeps', admin: 'one' },
      { task: 'webhooks', admin: null },
    ],
    admins: [
      { name: 'one', status: 'live' as const, silentMs: 88_000 },
      { name: 'two', status: 'gone' as const, silentMs: null },
    ],
    owned: [{ cluster_name: 'first', epoch: 89, owned_since: '1970-01-01T00:01:30.000Z' }],
  };

  t.deepEqual(
    samplesOf({
      live: distinctReadings(),
      totals,
      requests: [{ surface: 'rest', operation: 'get_node', code: '2xx', durations }],
    }),
    {
      'info version=1.2.3 name=one': 1,
      'nodes status=healthy': 60,
      'nodes status=unhealthy': 61,
      'nodes status=unreachable': 62,
      sessions: 1,
      sessions_opened_total: 2,
      sessions_cut_total: 3,
      'frames_total direction=in type=hello': 4,
      'frames_total direction=out type=welcome': 5,
      'actors kind=node': 6,
      'actors kind=self-update': 90,
      'mailbox_messages kind=node': 7,
      'mailbox_messages kind=self-update': 91,
      'mailbox_messages_max kind=node': 8,
      'mailbox_messages_max kind=self-update': 92,
      'actors kind=cluster': 9,
      'mailbox_messages kind=cluster': 10,
      'mailbox_messages_max kind=cluster': 11,
      'actors kind=command': 12,
      'mailbox_messages kind=command': 13,
      'mailbox_messages_max kind=command': 14,
      'actors kind=webhook': 15,
      'mailbox_messages kind=webhook': 16,
      'mailbox_messages_max kind=webhook': 17,
      dead_letters_total: 18,
      actor_crashes_total: 19,
      actor_escalations_total: 20,
      commit_duration_seconds: 1.5,
      commit_changes: 7,
      commits_waiting: 21,
      commits_refused_total: 22,
      commits_failed_total: 23,
      'events_backlog channel=webhooks': 65,
      'events_backlog channel=broker': 66,
      'executions status=pending': 63,
      'executions status=sent': 64,
      ...rising('executions_finished_total status', 'completed cancelled expired dropped', 24),
      'request_duration_seconds surface=rest operation=get_node code=2xx': 0.25,
      'database_connections state=busy': 28,
      'database_connections state=idle': 29,
      'database_connections state=waiting': 30,
      'proxy_connections_total proxy=http': 33,
      'proxy_connections_total proxy=socks5': 35,
      'proxy_blocked_total proxy=http reason=credentials': 34,
      'proxy_blocked_total proxy=socks5 reason=slow': 36,
      'proxy_bytes_total direction=up': 37,
      'proxy_bytes_total direction=down': 38,
      proxy_tunnels: 39,
      'proxy_tunnels_closed_total reason=normal': 40,
      'reach_total mode=forward outcome=connected': 41,
      'reach_total mode=chain outcome=offline': 42,
      console_sessions: 303,
      console_connections: 301,
      'console_sign_ins_total result=wrong_key': 302,
      terminals: 93,
      terminals_opened_total: 94,
      'terminals_ended_total reason=exited': 95,
      ...rising('terminals_ended_total reason', 'refused cut idle old session_over stopping misused', 0, 0),
      'terminal_bytes_total direction=up': 96,
      'terminal_bytes_total direction=down': 97,
      tunnels: 31,
      'tunnels_opened_total path=mesh': 32,
      'tunnels_opened_total path=url': 55,
      'mesh_networks state=joined': 56,
      'mesh_networks state=left_out': 57,
      'mesh_peers path=relayed': 58,
      'observer_ports state=open': 65,
      observer_members: 66,
      'observer_packets_total outcome=seen': 67,
      observer_told_total: 68,
      observer_shut_total: 69,
      relay_clients: 59,
      relay_clients_opened_total: 60,
      'relay_refused_total reason=unknown': 61,
      relay_packets_total: 62,
      relay_bytes_total: 63,
      'relay_dropped_total reason=absent': 64,
      'ssh_logins_total outcome=accepted': 43,
      'webhook_deliveries_total outcome=2xx': 44,
      webhook_deliveries_pending: 67,
      'broker_events_total outcome=published': 45,
      'broker_events_total outcome=too_old': 46,
      broker_failures_total: 47,
      broker_up: 1,
      tls_certificate_expiry_timestamp_seconds: 95,
      tls_certificate_refused: 1,
      tls_certificate_reloads_total: 96,
      'tls_refused_total reason=plain_http': 97,
      'tls_refused_total reason=handshake': 98,
      ...rising('self_update_requests status', 'pending processing completed', 111),
      ...rising('self_update_nodes state', 'waiting due triggered updated rolled_back failed skipped', 114),
      self_update_overdue_seconds: 121,
      self_update_trigger_seconds: 110,
      release_downloads: 201,
      'release_downloads_total outcome=started': 202,
      'release_downloads_total outcome=refused': 204,
      'release_downloads_total outcome=cut': 205,
      release_download_bytes_total: 203,
      release_metadata_expiry_timestamp_seconds: 206,
      release_stored_bytes: 207,
      'trace_spans_total outcome=exported': 53,
      'trace_spans_total outcome=dropped': 54,
      'scrapes_total source=host outcome=ok': 48,
      'scrapes_total source=agent outcome=ok': 49,
      'scrapes_total source=wireguard outcome=ok': 50,
      'scrape_duration_seconds source=host': 1.5,
      'scrape_duration_seconds source=agent': 1.5,
      'scrape_duration_seconds source=wireguard': 1.5,
      'task_holder task=sweeps holder=one': 1,
      'task_holder task=webhooks holder=': 0,
      'admins status=live': 1,
      'admins status=draining': 0,
      'admins status=silent': 0,
      'admins status=gone': 1,
      'heartbeat_age_seconds admin=one': 88,
      ...rising('clusters_handed_over_total outcome', 'balance room drain stop received stayed', 91),
      hand_over_duration_seconds: 0,
      owned_clusters: 51,
      'cluster_epoch cluster=first': 89,
      'cluster_owned_since_timestamp_seconds cluster=first': 90,
      clusters_gained_total: 70,
      clusters_lost_total: 71,
      lease_age_seconds: 52,
      degraded: 1,
      listener_silence_seconds: 86,
      encryption_keys: 2,
      encryption_sealed_total: 100,
      encryption_unreadable: 101,
      encryption_rotated: 0,
      listener_losses_total: 87,
      'link_up admin=b': 1,
      'link_up admin=c': 0,
      'link_changed_timestamp_seconds admin=b': 72,
      'link_changed_timestamp_seconds admin=c': 74,
      'link_latency_seconds admin=b': 73,
      'forwarded_calls_total direction=in outcome=answered': 55,
      'forwarded_calls_total direction=out outcome=lost': 56,
      peer_calls: 76,
      detoured_calls_total: 98,
      'forward_duration_seconds operation=delete_node outcome=ok': 1.5,
      'peer_call_duration_seconds operation=delete_alias outcome=conflict': 7,
      'news_connections direction=in': 77,
      'news_connections direction=out': 80,
      'news_notices_total direction=in': 78,
      'news_notices_total direction=out': 81,
      'news_missed_total direction=in': 79,
      'news_missed_total direction=out': 82,
      'passed_on_connections kind=tunnel state=opening': 83,
      'passed_on_connections kind=tunnel state=carried': 84,
      'passed_on_connections kind=session state=opening': 93,
      'passed_on_connections kind=session state=carried': 94,
      'passed_on_connections_total kind=tunnel outcome=failed': 85,
      'passed_on_connections_total kind=session outcome=full': 95,
    },
  );
});

test('what does not exist, or is not known now, is absent and not zero', (t) => {
  const all = Object.keys(samplesOf({}));
  const without = (readings: Partial<Readings>) =>
    all.filter((name) => !(name in samplesOf(readings))).map((name) => name.split(' ')[0]);

  t.deepEqual(
    [...new Set(without({ totals: null }))],
    [
      'nodes',
      'events_backlog',
      'executions',
      'console_sessions',
      'self_update_requests',
      'self_update_nodes',
      'self_update_overdue_seconds',
      'release_metadata_expiry_timestamp_seconds',
      'release_stored_bytes',
      'webhook_deliveries_pending',
      'admins',
      'heartbeat_age_seconds',
      'cluster_epoch',
      'cluster_owned_since_timestamp_seconds',
    ],
  );
  t.deepEqual(
    [
      ...new Set(
        without({ live: { ...restingReadings(), broker: null }, totals: { ...NO_ROWS, brokerBacklog: null } }),
      ),
    ],
    ['events_backlog', 'broker_events_total', 'broker_failures_total', 'broker_up'],
  );
  t.deepEqual(
    [...new Set(without({ live: { ...restingReadings(), proxies: null } }))],
    [
      'proxy_connections_total',
      'proxy_blocked_total',
      'proxy_bytes_total',
      'proxy_tunnels',
      'proxy_tunnels_closed_total',
      'reach_total',
    ],
  );
  t.deepEqual(
    without({ live: { ...restingReadings(), broker: { published: 0, tooOld: 0, failures: 0, isUp: null } } }),
    ['broker_up'],
  );
  t.deepEqual([...new Set(without({ live: { ...restingReadings(), traces: null } }))], ['trace_spans_total']);
  t.deepEqual(
    [...new Set(without({ live: { ...restingReadings(), tls: null } }))],
    [
      'tls_certificate_expiry_timestamp_seconds',
      'tls_certificate_refused',
      'tls_certificate_reloads_total',
      'tls_refused_total',
    ],
  );
  t.deepEqual(
    [...new Set(without({ live: { ...restingReadings(), gateway: null } }))],
    ['mesh_networks', 'mesh_peers'],
  );
  t.deepEqual(
    [...new Set(without({ live: { ...restingReadings(), observer: null } }))],
    ['observer_ports', 'observer_members', 'observer_packets_total', 'observer_told_total', 'observer_shut_total'],
  );
  t.deepEqual(
    [...new Set(without({ live: { ...restingReadings(), relay: null } }))],
    [
      'relay_clients',
      'relay_clients_opened_total',
      'relay_refused_total',
      'relay_packets_total',
      'relay_bytes_total',
      'relay_dropped_total',
    ],
  );
  t.deepEqual([...new Set(without({ totals: { ...NO_ROWS, executions: null } }))], ['executions']);
});
