/** The admins themselves: requests, database, actors, sessions, reach, events, process. */
import { area, stat, time } from './layout.ts';
import type { Dashboard, Query } from './layout.ts';

/** A node may have metrics of any name: those of admins are told by their job. */
const OF = 'job="edge-admin",instance=~"$admin"';

function quantiles(metric: string, by: string, legend: string, filter = OF): Query[] {
  const labels = by === '' ? 'le' : `${by}, le`;
  return (
    [
      [0.5, 'median'],
      [0.99, '99 %'],
    ] as const
  ).map(([quantile, word]) => [
    `histogram_quantile(${quantile}, sum by (${labels}) (rate(${metric}_bucket{${filter}}[$__rate_interval])))`,
    `${legend} ${word}`.trim(),
  ]);
}

function rate(metric: string, by: string, filter = OF): string {
  return `sum by (${by}) (rate(${metric}{${filter}}[$__rate_interval]))`;
}

/** The dashboard. */
export const admin: Dashboard = {
  uid: 'edge-admin',
  title: 'Edge: admin',
  description: 'What the admins do and how they feel.',
  variables: [
    {
      name: 'admin',
      label: 'Admin',
      values: 'label_values(edge_admin_info{job="edge-admin"}, instance)',
      isMany: true,
    },
  ],
  rows: [
    {
      title: 'Now',
      panels: [
        stat('Admins that answer', 'short', `sum(up{${OF}})`),
        stat('Version', 'none', `edge_admin_info{${OF}}`, { isName: true, legend: '{{name}} {{version}}' }),
        stat('Sessions', 'short', `sum(edge_admin_sessions{${OF}})`),
        stat('Clusters owned', 'short', `sum(edge_admin_owned_clusters{${OF}})`),
        stat('Oldest lease', 's', `max(edge_admin_lease_age_seconds{${OF}})`, {
          badFrom: 3,
          description: 'Leases run out after 3 s.',
        }),
        stat('More nodes than room', 'short', `max(edge_admin_degraded{${OF}})`, { badFrom: 1 }),
      ],
    },
    {
      title: 'Requests',
      panels: [
        area('By surface', 'ops', [rate('edge_admin_request_duration_seconds_count', 'surface'), '{{surface}}']),
        area('By end', 'ops', [rate('edge_admin_request_duration_seconds_count', 'code'), '{{code}}']),
        time('Duration', 's', ...quantiles('edge_admin_request_duration_seconds', 'surface', '{{surface}}')),
        time('Most asked', 'ops', [
          `topk(10, ${rate('edge_admin_request_duration_seconds_count', 'operation')})`,
          '{{operation}}',
        ]),
        time('Most time', 'percentunit', [
          `topk(10, ${rate('edge_admin_request_duration_seconds_sum', 'operation')})`,
          '{{operation}}',
        ]),
        time('Failed', 'ops', [
          `sum by (surface, operation) (rate(edge_admin_request_duration_seconds_count{code="5xx",${OF}}[$__rate_interval])) > 0`,
          '{{surface}} {{operation}}',
        ]),
      ],
    },
    {
      title: 'Database',
      panels: [
        area('Connections', 'short', [`sum by (state) (edge_admin_database_connections{${OF}})`, '{{state}}']),
        time('Duration of transactions', 's', ...quantiles('edge_admin_commit_duration_seconds', '', '')),
        time('Changes in a transaction', 'short', ...quantiles('edge_admin_commit_changes', '', '')),
        time('Steps that wait to be stored', 'short', [`edge_admin_commits_waiting{${OF}}`, '{{instance}}']),
        time('Transactions', 'ops', [rate('edge_admin_commit_duration_seconds_count', 'instance'), '{{instance}}']),
        time(
          'Not stored',
          'ops',
          [rate('edge_admin_commits_refused_total', 'instance'), '{{instance}} refused'],
          [rate('edge_admin_commits_failed_total', 'instance'), '{{instance}} failed'],
        ),
      ],
    },
    {
      title: 'Actors',
      panels: [
        area('Actors', 'short', [`sum by (kind) (edge_admin_actors{${OF}})`, '{{kind}}']),
        time(
          'Messages that wait',
          'short',
          [`sum by (kind) (edge_admin_mailbox_messages{${OF}})`, '{{kind}}'],
          [`max by (kind) (edge_admin_mailbox_messages_max{${OF}})`, '{{kind}}, fullest'],
        ),
        time(
          'Trouble',
          'ops',
          [rate('edge_admin_dead_letters_total', 'instance'), '{{instance}} dead letters'],
          [rate('edge_admin_actor_crashes_total', 'instance'), '{{instance}} crashes'],
          [rate('edge_admin_actor_escalations_total', 'instance'), '{{instance}} escalations'],
        ),
      ],
    },
    {
      title: 'Sessions of agents',
      panels: [
        area('Sessions', 'short', [`edge_admin_sessions{${OF}}`, '{{instance}}']),
        time(
          'Opened and cut',
          'ops',
          [rate('edge_admin_sessions_opened_total', 'instance'), '{{instance}} opened'],
          [rate('edge_admin_sessions_cut_total', 'instance'), '{{instance}} cut'],
        ),
        time('Frames', 'ops', [
          `topk(12, ${rate('edge_admin_frames_total', 'direction, type')})`,
          '{{direction}} {{type}}',
        ]),
        time('Leases', 's', [`edge_admin_lease_age_seconds{${OF}}`, '{{instance}}']),
        area('Clusters owned', 'short', [`edge_admin_owned_clusters{${OF}}`, '{{instance}}']),
      ],
    },
    {
      title: 'Several admins',
      panels: [
        area('Admins', 'short', [`max by (status) (edge_admin_admins{${OF}})`, '{{status}}']),
        time('Since the last heartbeat', 's', [
          `max by (admin) (edge_admin_heartbeat_age_seconds{${OF}})`,
          '{{admin}}',
        ]),
        time(
          'Clusters that change hands',
          'ops',
          [rate('edge_admin_clusters_gained_total', 'instance'), '{{instance}} gains'],
          [rate('edge_admin_clusters_lost_total', 'instance'), '{{instance}} loses'],
        ),
        time('Handed over', 'ops', [rate('edge_admin_clusters_handed_over_total', 'outcome'), '{{outcome}}']),
        time('Links', 'short', [`edge_admin_link_up{${OF}}`, '{{instance}} to {{admin}}']),
        time('Latency of links', 's', [`edge_admin_link_latency_seconds{${OF}}`, '{{instance}} to {{admin}}']),
        time('Silence of the listener', 's', [`edge_admin_listener_silence_seconds{${OF}}`, '{{instance}}']),
        time('Calls between admins', 'ops', [
          rate('edge_admin_forwarded_calls_total', 'direction, outcome'),
          '{{direction}} {{outcome}}',
        ]),
        time('Duration of forwarded operations', 's', ...quantiles('edge_admin_forward_duration_seconds', '', 'asked')),
        time('Forwarded most', 'ops', [
          `topk(10, ${rate('edge_admin_forward_duration_seconds_count', 'operation, outcome')})`,
          '{{operation}} {{outcome}}',
        ]),
        time(
          'News',
          'ops',
          [rate('edge_admin_news_notices_total', 'direction'), '{{direction}}'],
          [rate('edge_admin_news_missed_total', 'direction'), '{{direction}}, missed'],
        ),
        time(
          'Connections of agents passed on',
          'short',
          [`sum by (kind, state) (edge_admin_passed_on_connections{${OF}})`, '{{kind}} {{state}}'],
          [rate('edge_admin_passed_on_connections_total', 'kind, outcome'), '{{kind}} {{outcome}}, a second'],
        ),
      ],
    },
    {
      title: 'Reach',
      panels: [
        time(
          'Tunnels to nodes',
          'short',
          [`sum(edge_admin_tunnels{${OF}})`, 'open'],
          [`sum(rate(edge_admin_tunnels_opened_total{${OF}}[$__rate_interval]))`, 'opened a second'],
        ),
        time(
          'Clients of the proxies',
          'ops',
          [rate('edge_admin_proxy_connections_total', 'proxy'), '{{proxy}}'],
          [`${rate('edge_admin_proxy_blocked_total', 'proxy, reason')} > 0`, '{{proxy}} turned away: {{reason}}'],
        ),
        time('Bytes through the proxies', 'Bps', [rate('edge_admin_proxy_bytes_total', 'direction'), '{{direction}}']),
        time(
          'Connections through the proxies',
          'short',
          [`sum(edge_admin_proxy_tunnels{${OF}})`, 'open'],
          [rate('edge_admin_proxy_tunnels_closed_total', 'reason'), '{{reason}}, a second'],
        ),
        time('Targets asked for', 'ops', [
          `${rate('edge_admin_reach_total', 'mode, outcome')} > 0 or ${rate('edge_admin_reach_total', 'mode')}`,
          '{{mode}} {{outcome}}',
        ]),
        time('SSH logins', 'ops', [rate('edge_admin_ssh_logins_total', 'outcome'), '{{outcome}}']),
      ],
    },
    {
      title: 'Events',
      panels: [
        time('Events that wait', 'short', [`max by (channel) (edge_admin_events_backlog{${OF}})`, '{{channel}}']),
        time('Deliveries to webhooks', 'ops', [
          `${rate('edge_admin_webhook_deliveries_total', 'outcome')} > 0 or sum(rate(edge_admin_webhook_deliveries_total{${OF}}[$__rate_interval]))`,
          '{{outcome}}',
        ]),
        time(
          'Broker',
          'short',
          [`edge_admin_broker_up{${OF}}`, '{{instance}} reached'],
          [rate('edge_admin_broker_events_total', 'outcome'), '{{outcome}}, a second'],
        ),
      ],
    },
    {
      title: 'Process',
      panels: [
        time(
          'Event loop',
          's',
          [`nodejs_eventloop_lag_p50_seconds{${OF}}`, '{{instance}} median'],
          [`nodejs_eventloop_lag_p99_seconds{${OF}}`, '{{instance}} 99 %'],
          [`nodejs_eventloop_lag_max_seconds{${OF}}`, '{{instance}} longest'],
        ),
        time(
          'Memory',
          'bytes',
          [`process_resident_memory_bytes{${OF}}`, '{{instance}} resident'],
          [`nodejs_heap_size_used_bytes{${OF}}`, '{{instance}} heap'],
          [`nodejs_external_memory_bytes{${OF}}`, '{{instance}} external'],
        ),
        time('Processor', 'percentunit', [`rate(process_cpu_seconds_total{${OF}}[$__rate_interval])`, '{{instance}}']),
        time('Collecting garbage', 'percentunit', [
          `sum by (instance, kind) (rate(nodejs_gc_duration_seconds_sum{${OF}}[$__rate_interval]))`,
          '{{instance}} {{kind}}',
        ]),
        time(
          'Open files',
          'short',
          [`process_open_fds{${OF}}`, '{{instance}}'],
          [`process_max_fds{${OF}}`, '{{instance}}, most'],
        ),
      ],
    },
  ],
};
