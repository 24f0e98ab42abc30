/** The metrics of an admin as one of several: what it owns, how it gets to the others, and what goes between them. */
import { PEER_ADMIN_STATUSES } from '../../actors/resources/peer-admin.ts';
import { by, counter, gauge, histogram, one, type Family, type Readings, type Sample } from './family.ts';

/** In the order in which they are written. */
export const PEER_FAMILIES: readonly Family[] = [
  gauge(
    'admins',
    'Admins by status, in the whole database: silent ones have not checked in for over 3 s, gone ones for five minutes.',
    ['status'],
    ({ totals }) =>
      totals?.admins == null
        ? []
        : PEER_ADMIN_STATUSES.map((status) => ({
            labels: { status },
            value: totals.admins?.filter((admin) => admin.status === status).length ?? 0,
          })),
  ),
  gauge(
    'heartbeat_age_seconds',
    'Since each admin last checked in, by the clock of the database. Absent for one that was stopped, or is forgotten.',
    ['admin'],
    ({ totals }) =>
      (totals?.admins ?? []).flatMap(({ name, silentMs }) =>
        silentMs === null ? [] : one(silentMs / 1_000, { admin: name }),
      ),
  ),
  counter(
    'clusters_handed_over_total',
    'Clusters that this admin gave to another one while both lived, by why; those that came to it; those that stayed after all.',
    ['outcome'],
    ({ live: { ownership } }) => {
      const { given, received, stayed } = ownership.handOvers;
      return by('outcome', { ...given, received, stayed });
    },
  ),
  histogram(
    'hand_over_duration_seconds',
    'From when nothing new was begun for clusters until their new owner had them.',
    [],
    ({ live: { ownership } }) => one(ownership.handOvers.durations),
  ),
  gauge('owned_clusters', 'Clusters that this admin owns.', [], ({ live }) => one(live.ownership.clusters)),
  gauge(
    'cluster_epoch',
    'Epoch under which this admin owns a cluster; it rises with each change of owner. Of at most 1000 clusters, by name.',
    ['cluster'],
    ({ totals }) =>
      (totals?.owned ?? []).map(({ cluster_name: cluster, epoch }) => ({ labels: { cluster }, value: epoch })),
  ),
  gauge(
    'cluster_owned_since_timestamp_seconds',
    'When this admin came to own a cluster under that epoch. Of at most 1000 clusters, by name.',
    ['cluster'],
    ({ totals }) =>
      (totals?.owned ?? []).flatMap(({ cluster_name: cluster, owned_since: since }) =>
        since === null ? [] : one(Date.parse(since) / 1_000, { cluster }),
      ),
  ),
  counter('clusters_gained_total', 'Clusters that came to this admin, also its own at a start.', [], ({ live }) =>
    one(live.ownership.gained),
  ),
  counter('clusters_lost_total', 'Clusters that left this admin, also those that were deleted.', [], ({ live }) =>
    one(live.ownership.lost),
  ),
  gauge('lease_age_seconds', 'Since this admin last renewed its leases. At 3 s they run out.', [], ({ live }) =>
    one(live.ownership.leaseAgeMs / 1_000),
  ),
  gauge(
    'degraded',
    'Whether there are more nodes than the admins together have room for, or a cluster that fits none of them.',
    [],
    ({ live }) => one(live.ownership.isDegraded),
  ),
  gauge(
    'task_holder',
    'Which admin does what one does at a time (reconciler of VPNs, self-updates, sweeps, webhooks, broker), whichever is asked; 0 with no holder where nobody does.',
    ['task', 'holder'],
    ({ totals }) =>
      (totals?.tasks ?? []).map(({ task, admin }) => ({
        labels: { task, holder: admin ?? '' },
        value: admin === null ? 0 : 1,
      })),
  ),
  gauge(
    'listener_silence_seconds',
    'Since the connection on which the database notifies last said anything. It is asked every 5 s, and dialled anew after 10.',
    [],
    ({ live }) => one(live.listener.silentMs / 1_000),
  ),
  counter(
    'listener_losses_total',
    'Times that this connection was lost or could not be had: what was notified meanwhile is looked for in the rows.',
    [],
    ({ live }) => one(live.listener.lost),
  ),
  gauge(
    'link_up',
    'Whether this admin gets to another one that is alive. Absent until it was asked, and where that is of another version.',
    ['admin'],
    (readings) => ofLinks(readings, ({ state }) => ('sinceMs' in state ? Number(state.type === 'reached') : null)),
  ),
  gauge('link_changed_timestamp_seconds', 'Since when it does, or does not.', ['admin'], (readings) =>
    ofLinks(readings, ({ state }) => ('sinceMs' in state ? state.sinceMs / 1_000 : null)),
  ),
  gauge(
    'link_latency_seconds',
    'How long the last answer to a ping of another admin took. Absent while it is not reached.',
    ['admin'],
    (readings) =>
      ofLinks(readings, ({ state, latencyMs }) =>
        state.type === 'reached' && latencyMs !== null ? latencyMs / 1_000 : null,
      ),
  ),
  counter(
    'forwarded_calls_total',
    'Calls between admins for operations of clients, tries counted each: out of this admin by what came of them, in by what was said.',
    ['direction', 'outcome'],
    ({ live: { forwarding } }) => [
      ...by('outcome', forwarding.in, { direction: 'in' }),
      ...by('outcome', forwarding.out, { direction: 'out' }),
    ],
  ),
  gauge('peer_calls', 'Calls to other admins that are not answered yet.', [], ({ live }) =>
    one(live.adminLinks.callsOpen),
  ),
  counter(
    'detoured_calls_total',
    'Calls to other admins whose answer came by way of the database, as their link was silent.',
    [],
    ({ live }) => one(live.adminLinks.callsDetoured),
  ),
  histogram(
    'forward_duration_seconds',
    'How long operations took that another admin was asked for, with every try; by ok, or why they were refused.',
    ['operation', 'outcome'],
    ({ live: { forwarding } }) => times(forwarding.durations),
  ),
  histogram(
    'peer_call_duration_seconds',
    'How long operations took that were done here for another admin; by ok, or why they were refused.',
    ['operation', 'outcome'],
    ({ live: { forwarding } }) => times(forwarding.takenDurations),
  ),
  gauge(
    'news_connections',
    'Connections over which admins tell each other what they stored, while somebody watches: in from others, out to them.',
    ['direction'],
    ({ live: { adminLinks } }) =>
      by('direction', { in: adminLinks.news.in.connections, out: adminLinks.news.out.connections }),
  ),
  counter('news_notices_total', 'Notices over these connections.', ['direction'], ({ live: { adminLinks } }) =>
    by('direction', { in: adminLinks.news.in.notices, out: adminLinks.news.out.notices }),
  ),
  counter(
    'news_missed_total',
    'Times that some of it may have been left out: in by a loss, out as too many waited. Who watches looks at the rows then.',
    ['direction'],
    ({ live: { adminLinks } }) => by('direction', { in: adminLinks.news.in.missed, out: adminLinks.news.out.missed }),
  ),
  gauge(
    'passed_on_connections',
    'Connections of agents (tunnels, sessions) that came in here and are passed on to the admin whose they are: opening, and carried.',
    ['kind', 'state'],
    ({ live: { adminLinks } }) =>
      ofKinds(adminLinks.passedOn, ({ opening, carried }, kind) => by('state', { opening, carried }, { kind })),
  ),
  counter(
    'passed_on_connections_total',
    'Connections that were to be passed on, by what became of them: carried, refused there (unauthorized), not answered (failed), or too many (full).',
    ['kind', 'outcome'],
    ({ live: { adminLinks } }) =>
      ofKinds(adminLinks.passedOn, ({ outcomes }, kind) => by('outcome', outcomes, { kind })),
  ),
];

type PassedOn = Readings['live']['adminLinks']['passedOn'];

function ofKinds(
  passedOn: PassedOn,
  read: (of: PassedOn['tunnels'], kind: string) => readonly Sample<number>[],
): readonly Sample<number>[] {
  return [...read(passedOn.tunnels, 'tunnel'), ...read(passedOn.sessions, 'session')];
}

type Link = Readings['live']['adminLinks']['links'][number];

function ofLinks({ live }: Readings, read: (link: Link) => number | null) {
  return live.adminLinks.links.flatMap((link) => {
    const value = read(link);
    return value === null ? [] : one(value, { admin: link.name });
  });
}

function times(all: Readings['live']['forwarding']['durations']) {
  return all.map(({ operation, outcome, durations }) => ({ labels: { operation, outcome }, value: durations }));
}
