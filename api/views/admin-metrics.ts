/** The metrics of an admin as clients see them. What is not known now is null, and never zero. */
import { z } from 'zod';
import { LINK_STATES } from '../../actors/resources/peer-admin.ts';

const count = z.int().nullable();
const number = z.number().nullable();
const counts = z.record(z.string(), z.int());

const totalSince = count.describe('Since the start of the process.');
const wholeDatabase = count.describe('In the whole database; null while it cannot be asked.');

const ActorsOfKind = z.object({
  count,
  mailbox_messages: count.describe('Waiting in all mailboxes.'),
  mailbox_messages_max: count.describe('Waiting in the fullest mailbox.'),
});

const ProxyView = z.object({ connections_total: totalSince, blocked_total: totalSince, blocked_by_reason: counts });

const ScrapesView = z.object({ by_outcome: counts, duration_mean_seconds: number, duration_p99_seconds: number });

/** Everything that an admin tells of itself, a section a subsystem. Durations are in seconds, sizes in bytes. */
export const AdminMetricsView = z
  .object({
    name: z.string(),
    version: z.string(),
    timestamp: z.iso.datetime().describe('When it was read.'),
    process: z.object({ uptime_seconds: number, cpu_seconds_total: number, open_files: count, open_files_max: count }),
    event_loop: z
      .object({ lag_mean_seconds: number, lag_p50_seconds: number, lag_p99_seconds: number, lag_max_seconds: number })
      .describe(
        'Delay of the event loop since the metrics were last read, in whatever form; the timer that measures it adds 10 ms.',
      ),
    memory: z.object({ resident_bytes: count, heap_used_bytes: count, heap_total_bytes: count, external_bytes: count }),
    actors: z.object({
      node: ActorsOfKind,
      cluster: ActorsOfKind,
      command: ActorsOfKind,
      webhook: ActorsOfKind,
      dead_letters_total: totalSince,
      crashes_total: totalSince,
      escalations_total: totalSince,
    }),
    commits: z.object({
      waiting: count.describe('Steps of actors that wait to be stored.'),
      batches_total: totalSince,
      changes_total: totalSince,
      refused_total: totalSince,
      failed_total: totalSince,
      changes_mean: number.describe('Changes in one transaction.'),
      duration_mean_seconds: number,
      duration_p99_seconds: number,
    }),
    events: z
      .object({ webhooks_backlog: wholeDatabase, broker_backlog: wholeDatabase })
      .describe('Stored events that a channel has not taken yet, counted up to 100000.'),
    sessions: z.object({
      open: count,
      opened_total: totalSince,
      cut_total: totalSince,
      frames_in_total: totalSince,
      frames_out_total: totalSince,
      frames_in_by_type: counts,
      frames_out_by_type: counts,
    }),
    executions: z.object({
      pending: wholeDatabase,
      sent: wholeDatabase,
      completed_total: totalSince,
      cancelled_total: totalSince,
      expired_total: totalSince,
      dropped_total: totalSince,
    }),
    nodes: z.object({ healthy: wholeDatabase, unhealthy: wholeDatabase, unreachable: wholeDatabase }),
    requests: z.object({
      total: totalSince,
      errors_total: totalSince.describe('Answered with a status of 500 or above.'),
      by_operation: z.array(
        z.object({
          surface: z.string(),
          operation: z.string(),
          code: z.string(),
          count,
          duration_mean_seconds: number,
          duration_p99_seconds: number,
        }),
      ),
    }),
    database: z.object({
      available: z.boolean().describe('Whether it answered just now.'),
      connections_busy: count,
      connections_idle: count,
      connections_waiting: count.describe('Callers that wait for a connection.'),
    }),
    tunnels: z.object({ open: count, opened_total: totalSince, opened_by_path: counts }),
    mesh: z
      .object({ networks_joined: count, networks_left_out: count, peers_by_path: counts })
      .nullable()
      .describe('Null: this admin is in no network of its clusters.'),
    observer: z
      .object({
        ports_by_state: counts,
        members: count,
        packets_by_outcome: counts,
        told_total: totalSince,
        shut_total: totalSince,
      })
      .nullable()
      .describe('Null: it is switched off.'),
    relay: z
      .object({
        clients: count,
        opened_total: count,
        refused_by_reason: counts,
        packets_total: count,
        bytes_total: count,
        dropped_by_reason: counts,
      })
      .nullable()
      .describe('Null: this admin has no relay of its own.'),
    proxies: z
      .object({
        http: ProxyView,
        socks5: ProxyView,
        bytes_up_total: totalSince,
        bytes_down_total: totalSince,
        tunnels_open: count,
        tunnels_closed_by_reason: counts,
        reach_forward_by_outcome: counts,
        reach_chain_by_outcome: counts,
      })
      .nullable()
      .describe('Null: they are switched off.'),
    ssh: z.object({ logins_total: totalSince, logins_by_outcome: counts }),
    webhooks: z.object({ deliveries_pending: wholeDatabase, tries_total: totalSince, tries_by_outcome: counts }),
    broker: z
      .object({
        up: z.boolean().nullable().describe('Null: another admin publishes.'),
        published_total: totalSince,
        too_old_total: totalSince,
        failures_total: totalSince,
      })
      .nullable()
      .describe('Null: none is configured.'),
    scrapes: z
      .object({ host: ScrapesView, agent: ScrapesView, wireguard: ScrapesView })
      .describe('Reads of the metrics of nodes.'),
    ownership: z.object({
      clusters: count,
      gained_total: totalSince,
      lost_total: totalSince,
      handed_over_by_reason: counts,
      received_total: totalSince.describe('Clusters that another admin gave to this one.'),
      stayed_total: totalSince.describe('Clusters that were to be given to another admin and stayed.'),
      lease_age_seconds: number,
      degraded: z.boolean(),
    }),
    peers: z
      .object({
        links: z.array(
          z.object({
            admin: z.string(),
            state: z.enum(LINK_STATES),
            since: z.iso.datetime().nullable(),
            latency_seconds: number,
          }),
        ),
        calls_open: count,
        calls_detoured_total: count.describe('Answered by way of the database, as the link was silent.'),
        calls_in_by_outcome: counts,
        calls_out_by_outcome: counts,
        news_connections_in: count,
        news_connections_out: count,
        news_missed_in_total: totalSince,
        news_missed_out_total: totalSince,
        tunnels_passed_on: count,
        tunnels_passed_on_by_outcome: counts,
        sessions_passed_on: count,
        sessions_passed_on_by_outcome: counts,
        listener_silence_seconds: number,
        listener_losses_total: totalSince,
      })
      .describe('The other admins, and what goes between them and this one.'),
  })
  .meta({ id: 'AdminMetrics', description: 'What the admin that answers is doing.' });
