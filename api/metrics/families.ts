/**
 * Every metric of an admin: its name, what it means, and where it is read. docs/metrics.md says the same at more
 * length; a test holds them together.
 */
import { type Family, gauge, counter, histogram, one, by, byKind } from './family.ts';
import { REACH_FAMILIES } from './reach-families.ts';
import { PEER_FAMILIES } from './peer-families.ts';
import { RELEASE_FAMILIES } from './release-families.ts';
import { SELF_UPDATE_FAMILIES } from './self-update-families.ts';
import { TLS_FAMILIES } from './tls-families.ts';

/** All of them, in the order in which they are written. */
export const FAMILIES: readonly Family[] = [
  gauge('info', 'Version and name of this admin; always 1.', ['version', 'name'], ({ version, name }) => [
    { labels: { version, name }, value: 1 },
  ]),
  gauge('nodes', 'Nodes by status, in the whole database.', ['status'], ({ totals }) => by('status', totals?.nodes)),
  gauge('sessions', 'Live control sessions of agents here.', [], ({ live }) => one(live.sessions.open)),
  counter('sessions_opened_total', 'Control sessions that were opened.', [], ({ live }) => one(live.sessions.opened)),
  counter(
    'sessions_cut_total',
    'Control sessions that were cut: they broke the contract or the protocol of WebSocket, flooded, or did not read.',
    [],
    ({ live }) => one(live.sessions.cut),
  ),
  counter(
    'frames_total',
    'Frames of control sessions by type; invalid ones are no frames and ended their session.',
    ['direction', 'type'],
    ({
      live: {
        sessions: { frames },
      },
    }) => [...by('type', frames.in, { direction: 'in' }), ...by('type', frames.out, { direction: 'out' })],
  ),
  gauge('actors', 'Actors that live here.', ['kind'], ({ live }) => byKind(live, ({ count }) => count)),
  gauge('mailbox_messages', 'Messages that wait in all mailboxes of a kind.', ['kind'], ({ live }) =>
    byKind(live, ({ messages }) => messages),
  ),
  gauge('mailbox_messages_max', 'Messages that wait in the fullest mailbox of a kind.', ['kind'], ({ live }) =>
    byKind(live, ({ messagesMax }) => messagesMax),
  ),
  counter(
    'dead_letters_total',
    'Messages that found no actor, or a full mailbox; whoever asked was told.',
    [],
    ({ live }) => one(live.deadLetters),
  ),
  counter('actor_crashes_total', 'Crashes of actors: bugs. Each was started again from its rows.', [], ({ live }) =>
    one(live.crashes),
  ),
  counter(
    'actor_escalations_total',
    'Crashes after which an actor rests for a minute, because there were too many.',
    [],
    ({ live }) => one(live.escalations),
  ),
  histogram('commit_duration_seconds', 'How long transactions of actors took that were stored.', [], ({ live }) =>
    one(live.commits.durations),
  ),
  histogram('commit_changes', 'Changes in one transaction of actors.', [], ({ live }) => one(live.commits.sizes)),
  gauge('commits_waiting', 'Steps of actors that wait to be stored.', [], ({ live }) => one(live.commits.waiting)),
  counter(
    'commits_refused_total',
    'Changes that a guard or a constraint refused: another change came first.',
    [],
    ({ live }) => one(live.commits.refused),
  ),
  counter(
    'commits_failed_total',
    'Transactions of actors that failed: the database was away, or another transaction stood in the way.',
    [],
    ({ live }) => one(live.commits.failed),
  ),
  gauge(
    'events_backlog',
    'Stored events that a channel has not taken yet, up to 100000, in the whole database.',
    ['channel'],
    ({ totals }) => [
      ...one(totals?.webhooksBacklog, { channel: 'webhooks' }),
      ...one(totals?.brokerBacklog, { channel: 'broker' }),
    ],
  ),
  gauge('executions', 'Open executions by status, in the whole database.', ['status'], ({ totals }) =>
    by('status', totals?.executions),
  ),
  counter(
    'executions_finished_total',
    'Executions whose end was stored here, by what they came to.',
    ['status'],
    ({ live }) => by('status', live.ended),
  ),
  histogram(
    'request_duration_seconds',
    'How long requests took that were answered. Other surfaces than rest, trpc and mcp are told by the pattern of their route.',
    ['surface', 'operation', 'code'],
    ({ requests }) =>
      requests.map(({ surface, operation, code, durations }) => ({
        labels: { surface, operation, code },
        value: durations,
      })),
  ),
  gauge(
    'database_connections',
    'Connections of the pool to the database; waiting are those who want one.',
    ['state'],
    ({
      live: {
        database: { busy, idle, waiting },
      },
    }) => by('state', { busy, idle, waiting }),
  ),
  gauge(
    'encryption_keys',
    'Keys that open what is sealed here: ENCRYPTION_KEY, and former ones while it is rotated.',
    [],
    ({ live }) => one(live.encryption.keys),
  ),
  counter('encryption_sealed_total', 'Secrets that this admin sealed anew under ENCRYPTION_KEY.', [], ({ live }) =>
    one(live.encryption.sealed),
  ),
  gauge(
    'encryption_unreadable',
    'Secrets that no key of this admin opens, as of its last look at all of them; 0 where it has not looked.',
    [],
    ({ live }) => one(live.encryption.unreadable),
  ),
  gauge(
    'encryption_rotated',
    'Whether this admin knows that nothing is sealed under a former key: of several, the one that sweeps does.',
    [],
    ({ live }) => one(live.encryption.isDone),
  ),
  ...REACH_FAMILIES,
  ...TLS_FAMILIES,
  ...SELF_UPDATE_FAMILIES,
  ...RELEASE_FAMILIES,
  counter('ssh_logins_total', 'SSH logins that agents asked about, by verdict.', ['outcome'], ({ live }) =>
    by('outcome', live.sshLogins),
  ),
  counter(
    'webhook_deliveries_total',
    'Tries to deliver an event to a webhook, by the status or the failure that it came to. A delivery counts once a try.',
    ['outcome'],
    ({ live }) => by('outcome', live.webhookDeliveries),
  ),
  gauge(
    'webhook_deliveries_pending',
    'Deliveries to webhooks that have a row and are not finished, up to 100000, in the whole database.',
    [],
    ({ totals }) => one(totals?.deliveriesPending),
  ),
  counter(
    'broker_events_total',
    'Events that the broker confirmed, or that had become too old for it.',
    ['outcome'],
    ({ live: { broker } }) =>
      broker === null ? [] : by('outcome', { published: broker.published, too_old: broker.tooOld }),
  ),
  counter(
    'broker_failures_total',
    'Connections to the broker and batches for it that failed.',
    [],
    ({ live: { broker } }) => one(broker?.failures),
  ),
  gauge(
    'broker_up',
    'Whether the broker is reached and takes events. Absent where another admin publishes.',
    [],
    ({ live: { broker } }) => one(broker?.isUp),
  ),
  counter(
    'trace_spans_total',
    'Spans that a collector took, or that were dropped.',
    ['outcome'],
    ({ live: { traces } }) =>
      traces === null ? [] : by('outcome', { exported: traces.exported, dropped: traces.dropped }),
  ),
  counter('scrapes_total', 'Reads of the metrics of nodes, by what they came to.', ['source', 'outcome'], ({ live }) =>
    Object.entries(live.scrapes).flatMap(([source, { outcomes }]) => by('outcome', outcomes, { source })),
  ),
  histogram('scrape_duration_seconds', 'How long reads of the metrics of nodes took.', ['source'], ({ live }) =>
    Object.entries(live.scrapes).flatMap(([source, { durations }]) => one(durations, { source })),
  ),
  ...PEER_FAMILIES,
];
