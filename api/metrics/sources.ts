/**
 * What the metrics of an admin are read from: plain numbers that its parts count anyway. Nothing here knows a metrics
 * library, and nothing there knows this.
 */
import type { DownloadCounters } from '../release-ports.ts';
import type { Histogram } from '../../transport/net/histogram.ts';
import type { MetricsSource } from '../../actors/resources/node-metrics.ts';
import type { ActorKind } from '../../actors/messages.ts';
import type { KnownLink } from '../forwarding/admin-links.ts';
import type { ForwardingReadings } from '../forwarding/counters.ts';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { PeerAdminStatus } from '../../actors/resources/peer-admin.ts';
import type { NodeStatus } from '../../actors/resources/node.ts';
import type { TerminalReadings } from '../terminal/counters.ts';
import type { SelfUpdateTotals } from '../../actors/resources/self-update.ts';

/** Counts by a word of a closed list. */
export type Counts = Readonly<Record<string, number>>;

/** The parts of an admin, as they are read at a scrape. */
export interface MetricSources {
  readonly version: string;
  /** ADMIN_NAME. */
  readonly name: string;
  /** At once, and without the database. */
  live(): LiveReadings;
  /** What the rows come to. Rejects when the database is away. */
  totals(): Promise<TotalReadings>;
}

/** What this process knows by itself. Counts are since its start. */
export interface LiveReadings {
  readonly sessions: {
    readonly open: number;
    readonly opened: number;
    readonly cut: number;
    readonly frames: { readonly in: Counts; readonly out: Counts };
  };
  /** Those that live here; `messages` wait in all mailboxes of a kind, `messagesMax` in the fullest. */
  readonly actors: Readonly<
    Record<ActorKind, { readonly count: number; readonly messages: number; readonly messagesMax: number }>
  >;
  readonly deadLetters: number;
  readonly crashes: number;
  readonly escalations: number;
  /** Durations in s, sizes in changes. */
  readonly commits: {
    readonly durations: Histogram;
    readonly sizes: Histogram;
    readonly waiting: number;
    readonly refused: number;
    readonly failed: number;
  };
  readonly ended: Readonly<Record<Exclude<ExecutionStatus, 'pending' | 'sent'>, number>>;
  /** From a node's turn in a self-update request until its updater took the signal, in s. */
  readonly updateTriggers: Histogram;
  readonly database: { readonly busy: number; readonly idle: number; readonly waiting: number };
  /** Opened by path. */
  readonly tunnels: { readonly open: number; readonly opened: Counts };
  /** Null: this admin is in no VPN of its clusters. */
  readonly gateway: GatewayReadings | null;
  /** Null: it is switched off. */
  readonly observer: ObserverReadings | null;
  /** Null: this admin has no relay of its own. */
  readonly relay: RelayReadings | null;
  /** Null: they are switched off. */
  readonly proxies: ProxyReadings | null;
  /** By outcome. */
  readonly sshLogins: Counts;
  readonly webhookDeliveries: Counts;
  /** Null: none is configured. */
  readonly broker: BrokerReadings | null;
  readonly scrapes: Readonly<Record<MetricsSource, { readonly outcomes: Counts; readonly durations: Histogram }>>;
  /** Spans on their way to a collector. Null: nothing is exported. */
  readonly traces: { readonly exported: number; readonly dropped: number } | null;
  /** Null: this admin serves plain HTTP. */
  readonly tls: TlsReadings | null;
  /** Downloads of releases. */
  readonly releases: DownloadCounters;
  readonly terminals: TerminalReadings;
  /** Of pages; sign-ins by result. */
  readonly console: { readonly connections: number; readonly signIns: Counts };
  readonly forwarding: ForwardingReadings;
  readonly ownership: {
    readonly clusters: number;
    /** Clusters that came here under a new epoch, and that left. */
    readonly gained: number;
    readonly lost: number;
    readonly leaseAgeMs: number;
    readonly isDegraded: boolean;
    readonly handOvers: HandOverReadings;
  };
  readonly adminLinks: AdminLinkReadings;
  /** Of sealing secrets anew after a change of the encryption key; `sealed` since the start. */
  readonly encryption: {
    readonly keys: number;
    readonly sealed: number;
    readonly unreadable: number;
    readonly isDone: boolean;
  };
  /** The connection on which the database notifies. */
  readonly listener: { readonly silentMs: number; readonly lost: number };
}

/** What goes between this admin and the others. */
export interface AdminLinkReadings {
  readonly links: readonly KnownLink[];
  /** Calls to others that are not answered yet. */
  readonly callsOpen: number;
  /** Calls whose answer came by way of the database, as the link was silent. */
  readonly callsDetoured: number;
  /** `in`: what others tell; `out`: what they are told. Missed: times that something may have been left out. */
  readonly news: Readonly<
    Record<'in' | 'out', { readonly connections: number; readonly notices: number; readonly missed: number }>
  >;
  /** Tunnels and sessions of agents that are passed on to the admins whose they are. */
  readonly passedOn: Readonly<
    Record<'tunnels' | 'sessions', { readonly opening: number; readonly carried: number; readonly outcomes: Counts }>
  >;
}

/** Clusters that changed hands while both admins lived. */
export interface HandOverReadings {
  /** To other admins, by why. */
  readonly given: Counts;
  readonly received: number;
  /** That could not be given. */
  readonly stayed: number;
  /** In s. */
  readonly durations: Histogram;
}

/** The proxies of this admin, and where they take people. */
export interface ProxyReadings {
  readonly http: { readonly connections: number; readonly blocked: Counts };
  readonly socks5: { readonly connections: number; readonly blocked: Counts };
  /** Up is to the target. */
  readonly bytes: { readonly up: number; readonly down: number };
  readonly open: number;
  /** By why they ended. */
  readonly closed: Counts;
  /** By outcome. */
  readonly reach: { readonly forward: Counts; readonly chain: Counts };
}

/** The gateway of this admin. */
export interface GatewayReadings {
  /** VPNs that it is in, and those for which it has no room. */
  readonly joined: number;
  readonly leftOut: number;
  /** By path. */
  readonly peers: Counts;
}

/** What sees where members are. */
export interface ObserverReadings {
  /** By state. */
  readonly ports: Counts;
  readonly members: number;
  /** By outcome. */
  readonly packets: Counts;
  readonly told: number;
  readonly shut: number;
}

/** The relay inside this admin. */
export interface RelayReadings {
  /** Connected now, and since the start. */
  readonly clients: number;
  readonly opened: number;
  /** Connections that became no client, by reason. */
  readonly refused: Counts;
  /** Handed on. */
  readonly packets: number;
  readonly bytes: number;
  /** By reason. */
  readonly dropped: Counts;
}

/** The port of HTTPS. */
export interface TlsReadings {
  /** Unix time, in ms. */
  readonly expiresAtMs: number;
  /** The files hold a pair that cannot be used. */
  readonly isRefused: boolean;
  readonly reloads: number;
  readonly plainHttp: number;
  readonly failedHandshakes: number;
}

/** The channel to the broker. */
export interface BrokerReadings {
  readonly published: number;
  readonly tooOld: number;
  readonly failures: number;
  /** Null: another admin publishes. */
  readonly isUp: boolean | null;
}

/** What is counted in the database, whichever admin asks. Null: it is not known now, or there is no such thing. */
export interface TotalReadings {
  readonly nodes: Readonly<Record<NodeStatus, number>> | null;
  readonly executions: Readonly<Record<'pending' | 'sent', number>> | null;
  readonly webhooksBacklog: number | null;
  readonly brokerBacklog: number | null;
  readonly deliveriesPending: number | null;
  readonly consoleSessions: number | null;
  /** Of what is published: null for the instant where nothing is. */
  readonly releases: { readonly expiresAtMs: number | null; readonly storedBytes: number } | null;
  readonly selfUpdates: SelfUpdateTotals | null;
  /** Who does what one admin does at a time; null: nobody does. */
  readonly tasks: readonly { readonly task: string; readonly admin: string | null }[] | null;
  /** All admins that are listed; `silentMs` since each was heard, null of one that was stopped. */
  readonly admins:
    | readonly { readonly name: string; readonly status: PeerAdminStatus; readonly silentMs: number | null }[]
    | null;
  /** What this admin owns, of many the first by name. */
  readonly owned:
    | readonly { readonly cluster_name: string; readonly epoch: number; readonly owned_since: string | null }[]
    | null;
}
