/**
 * Where an admin's metrics are read: its parts, in the words of api/metrics. Called by main.ts, which alone has all of
 * them.
 */
import type { MetricSources, ProxyReadings, RelayReadings } from './api/metrics/sources.ts';
import type { GroupCommitter } from './persistence/committer/committer.ts';
import type { Database } from './persistence/database.ts';
import type { SshLogins } from './persistence/ssh/verifier.ts';
import type { Totals } from './persistence/totals.ts';
import type { FamilySight } from './actors/sights.ts';
import type { BrokerChannel } from './supervisors/publishing/broker-channel.ts';
import type { Tree } from './supervisors/tree.ts';
import type { Proxies } from './transport/proxies/proxies.ts';
import type { ReachCounters } from './transport/tunnels/reach.ts';
import type { Tunnels } from './transport/tunnels/tunnels.ts';
import type { EmbeddedRelay } from './transport/vpn/relay/embedded.ts';
import type { ScrapeCounters } from './transport/metrics/counters.ts';
import type { Sessions } from './transport/sessions/sessions.ts';
import type { ExportCounters } from './transport/tracing/export.ts';
import type { Gateway } from './transport/vpn/gateway/gateway.ts';
import type { AdminObserver } from './transport/vpn/observer/mesh-observer.ts';
import type { WebhookCounters } from './transport/events/webhooks/counters.ts';

/** The parts. */
export interface MeasuredParts {
  readonly version: string;
  readonly name: string;
  readonly sessions: Sessions;
  readonly tree: Tree;
  families(): readonly FamilySight[];
  readonly committer: GroupCommitter;
  readonly database: Pick<Database, 'connections'>;
  totals(): Promise<Totals>;
  readonly tunnels: Tunnels;
  readonly gateway: Pick<Gateway, 'readings'>;
  readonly observer: Pick<AdminObserver, 'readings'>;
  readonly relay: Pick<EmbeddedRelay, 'readings'>;
  /** Null: they are off, or do not listen yet. */
  proxies(): Proxies | null;
  readonly reach: ReachCounters;
  readonly ssh: SshLogins;
  readonly posts: { readonly counters: WebhookCounters };
  /** Null: none is configured. */
  readonly broker: BrokerChannel | null;
  readonly scrapes: ScrapeCounters;
  /** Null: nothing is exported. */
  readonly traces: ExportCounters | null;
}

/** The sources of an admin made of these parts. */
export function metricSources(parts: MeasuredParts): MetricSources {
  const { version, name, sessions, tree, committer, tunnels, ssh, posts, broker, scrapes } = parts;
  return {
    version,
    name,
    totals: () => parts.totals(),
    live() {
      const { directory, ownership, held } = tree;
      const { deadLetters, crashes, escalations } = directory.counters;
      const { durations, sizes, refused, failed } = committer.counters;
      const { opened, cut, frames } = sessions.counters;
      const proxies = parts.proxies();
      return {
        sessions: { open: sessions.count(), opened, cut, frames },
        actors: actorsOf(parts.families()),
        deadLetters,
        crashes,
        escalations,
        commits: { durations, sizes, waiting: committer.waiting(), refused, failed },
        ended: tree.ended,
        database: parts.database.connections(),
        tunnels: { open: tunnels.count(), opened: { ...tunnels.counters.opened } },
        mesh: parts.gateway.readings(),
        observer: parts.observer.readings(),
        relay: relayOf(parts.relay),
        proxies: proxies === null ? null : proxiesOf(proxies, parts.reach),
        sshLogins: { ...ssh.counters },
        webhookDeliveries: deliveriesOf(posts.counters),
        broker:
          broker === null ? null : { ...broker.counters, isUp: broker.holds() ? broker.problem() === null : null },
        scrapes: scrapes.by,
        traces: parts.traces,
        ownership: { clusters: held.all().length, leaseAgeMs: ownership.quietMs(), isDegraded: ownership.isDegraded() },
      };
    },
  };
}

/** A relay that is off, or not open yet, is none. */
function relayOf(relay: Pick<EmbeddedRelay, 'readings'>): RelayReadings | null {
  const read = relay.readings();
  return read === null ? null : { clients: read.clients, ...read.counters };
}

type Actors = ReturnType<MetricSources['live']>['actors'];

function actorsOf(families: readonly FamilySight[]): Actors {
  return Object.fromEntries(
    families.map(({ kind, actors, mailboxMessages, mailboxMessagesMax }) => [
      kind,
      { count: actors, messages: mailboxMessages, messagesMax: mailboxMessagesMax },
    ]),
  ) as Actors;
}

function proxiesOf(proxies: Proxies, reach: ReachCounters): ProxyReadings {
  const { http, socks5, tunnels } = proxies;
  return {
    http: http.counters,
    socks5: socks5.counters,
    bytes: proxies.bytes(),
    open: tunnels.open,
    closed: tunnels.ends,
    reach,
  };
}

/**
 * Statuses and failures in one list: a try comes to one of them. Those that were cut count for nobody, and are told all
 * the same.
 */
function deliveriesOf({
  answers: { other, ...answers },
  failures,
  cut,
}: WebhookCounters): Readonly<Record<string, number>> {
  const { other: otherFailure, ...named } = failures;
  return {
    ...answers,
    other_status: other,
    ...Object.fromEntries(Object.entries(named).map(([kind, count]) => [kind.replaceAll('-', '_'), count])),
    other_failure: otherFailure,
    cut,
  };
}
