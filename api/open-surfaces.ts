/** Everything that people and programs reach this admin by: REST, tRPC, MCP, documentation, health, metrics. */
import type { Ask } from '../actors/messages.ts';
import type { Clock } from '../actors/ports.ts';
import type { Log } from '../transport/net/log.ts';
import type { Unwind } from '../transport/net/unwind.ts';
import type { DebugInspection } from '../actors/inspection.ts';
import type { Tracer } from '../actors/tracer.ts';
import { adminLinkTo, type KnownLink } from './forwarding/admin-links.ts';
import { ConsoleCounters } from './console/counters.ts';
import { openConsole, type ConsoleSettings } from './console/open-console.ts';
import type { SessionRows } from './console/ports.ts';
import { consoleSessions } from './console/sessions.ts';
import { createIds } from './creation-ids.ts';
import { withDebugPage } from './debug/elsewhere.ts';
import { openDebug } from './debug/open-debug.ts';
import type { ProxyPorts } from './docs/guide/page.ts';
import type { Feeds } from './feeds/feeds.ts';
import { openFeeds, type FeedRows, type FeedSources } from './feeds/open-feeds.ts';
import type { Tails, TailsElsewhere } from './feeds/ports.ts';
import { tailsEverywhere } from './feeds/tails-everywhere.ts';
import type { PeerCallHandler } from './forwarding/ports.ts';
import { openForwarding, type ForwardingParts } from './forwarding/open-forwarding.ts';
import { healthPorts } from './health/health-ports.ts';
import { openChecks } from './health/open-checks.ts';
import { ownProblems } from './health/own-problems.ts';
import type { HealthPorts } from './health/ports.ts';
import { mountMcp } from './mcp/mount.ts';
import { createAdminMetrics } from './metrics/admin-metrics.ts';
import type { LiveReadings, TlsReadings, TotalReadings } from './metrics/sources.ts';
import type { OverviewPorts } from './overview-ports.ts';
import type { OperationPorts } from './ports.ts';
import { createProver, type GateSettings } from './principals.ts';
import { mountRelays, type RelayPorts } from './rest/relays.ts';
import type { ServedCertificate } from './rest/app.ts';
import { createApi, type Api } from './rest/server.ts';
import type { Terminals } from './terminal/ports.ts';
import { createTerminals, type TerminalSockets } from './terminal/sockets.ts';
import { mountTrpc } from './trpc/mount.ts';
import type { OwnNames } from './origins.ts';

/** The settings for them, under their names. */
export interface SurfaceSettings extends ConsoleSettings {
  readonly CORE_NAME: string;
  readonly EDGE_VPN_DEFAULT_DOMAIN: string;
  readonly DEFAULT_CLUSTER_NAME?: string | undefined;
  readonly PUBLIC_ENROLLMENT_KEY_ENABLED: boolean;
  readonly METRICS_BASE_URL?: string | undefined;
  readonly MAX_BODY_BYTES: number;
  readonly SSH_RECORDING: 'off' | 'pty' | 'all';
  readonly SSH_RECORDING_MAX_BYTES: number;
  readonly TRUSTED_PROXIES?: readonly string[] | undefined;
  readonly API_DOCS_ENABLED: boolean;
  readonly AUTH_FAILURES_PER_MINUTE_MAX: number;
  readonly ADMIN_DEBUG_DASHBOARD_ENABLED: boolean;
  readonly ADMIN_DEBUG_AUTH_ENABLED: boolean;
  readonly ADMIN_DEBUG_DASHBOARD_USERNAME: string;
  readonly ADMIN_DEBUG_DASHBOARD_PASSWORD?: string | undefined;
}

/** What the rows answer. */
export interface SurfaceRows extends Pick<FeedRows, 'executionsOf' | 'existingCommands'> {
  readonly operations: Pick<OverviewPorts, 'overview'> &
    Pick<
      OperationPorts,
      'reads' | 'records' | 'groups' | 'vault' | 'passwords' | 'admin' | 'adminTopology' | 'peerAdmins' | 'discovery'
    >;
  readonly health: HealthPorts['rows'];
  /** Events that wait for the broker, at most `max`. */
  brokerBacklog(max: number): Promise<number>;
  /** What the rows come to, with what waits for a broker or without. Rejects when the database is away. */
  totals(hasBroker: boolean): Promise<TotalReadings>;
  /** Has all admins read of these, asked anew with each check-in from now on. */
  tellProblems(problems: () => ReturnType<typeof ownProblems>): void;
  inspection(hasBroker: boolean): ReturnType<DebugInspection['database']>;
  readonly relayClusters: RelayPorts['clustersOf'];
  readonly consoleSessions: SessionRows;
}

/** A part that counts what happens in it. */
interface Counting<Name extends keyof LiveReadings> {
  readings(): Pick<LiveReadings, Name>;
}

/** The parts of the admin that surfaces show. */
export interface SurfaceParts extends FeedSources, ForwardingParts {
  readonly version: string;
  readonly rows: SurfaceRows & ForwardingParts['rows'];
  readonly actors: ForwardingParts['actors'] & {
    readonly tree: {
      readonly ask: Ask;
      readonly ownership: Pick<OperationPorts, 'standing' | 'makeRoom'> & {
        quietMs(): number;
        late(ms: number): number;
      };
      readonly directory: { readonly counters: ReturnType<DebugInspection['counters']> };
    };
    readonly inspection: Pick<DebugInspection, 'families' | 'search'>;
  } & Counting<'actors' | 'deadLetters' | 'crashes' | 'escalations' | 'ended' | 'updateTriggers' | 'ownership'>;
  readonly storage: Counting<'commits' | 'database' | 'sshLogins' | 'listener' | 'encryption'>;
  readonly agents: Pick<OperationPorts, 'nodeMetrics' | 'nodeHistories' | 'nodeSshSessions' | 'nodeDiagnoses'> &
    Counting<'sessions' | 'tunnels' | 'scrapes'> & {
      readonly terminals: Terminals;
      readonly sessions: {
        readonly tails: Tails;
        snapshots(limit: number): ReturnType<DebugInspection['sessions']>['sessions'];
        count(): number;
      };
    };
  readonly vpn: {
    readonly manager: HealthPorts['vpnManager'];
    readonly gateway: HealthPorts['vpnClient'];
    readonly relay: { derpMap(): unknown; state(): ReturnType<HealthPorts['relay']> };
  } & Counting<'gateway' | 'observer' | 'relay'>;
  readonly webhooks: Pick<OperationPorts, 'urlGuard'> & Counting<'webhookDeliveries'>;
  readonly publishing: Pick<OperationPorts, 'deliversWebhooks'> &
    Counting<'broker'> & {
      readonly broker: { problem(): string | null } | null;
    };
  readonly proxies: {
    readonly isEnabled: boolean;
    running(): Readonly<Record<'http' | 'socks5', { isListening(): boolean }>> | null;
    ports(): ProxyPorts | null;
  } & Counting<'proxies'>;
  readonly peers: HealthPorts['peers'];
  readonly releases: OperationPorts['releases'];
  readonly links: FeedSources['links'] &
    ForwardingParts['links'] &
    Counting<'adminLinks'> & {
      readonly tails: TailsElsewhere;
      readonly peers: { states(): readonly KnownLink[] };
    };
  readonly adminId: string;
  /** Null: nothing is exported. */
  readonly tracing: { readonly counters: LiveReadings['traces'] };
  /** In order. Empty until this admin listens, where the settings name none. */
  readonly adminUrls: () => readonly string[];
  readonly gate: GateSettings;
  readonly ownNames: OwnNames;
  /** With which it serves HTTPS; null: it serves plain HTTP. */
  readonly certificate: (ServedCertificate & { readings(): TlsReadings }) | null;
  readonly tracer: Tracer;
  readonly clock: Clock & HealthPorts['clock'];
  readonly log: Log;
  /** Gets what is to be ended; but the terminals, which end before what agents come in by. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** The API, which does not listen yet, and the live feeds on it. */
export interface Surfaces {
  readonly api: Api;
  readonly feeds: Pick<Feeds, 'open' | 'executions'>;
  /** Does what other admins ask for. */
  readonly peerCalls: PeerCallHandler;
  readonly terminals: Pick<TerminalSockets, 'end'>;
}

/** All of them on one server. */
export function openSurfaces(settings: SurfaceSettings, parts: SurfaceParts): Surfaces {
  const { rows, tracer, clock, log } = parts;
  const { ownership, directory } = parts.actors.tree;
  const forwarding = openForwarding(parts);
  const tails = tailsEverywhere({
    here: parts.agents.sessions.tails,
    elsewhere: parts.links.tails,
    isElsewhere: (id) => ownership.hasPeers() && directory.find({ kind: 'node', id }) === undefined,
    ownerOf: (id) => forwarding.ownerOf({ kind: 'node', id }),
    clock,
  });
  const feeds = openFeeds({ ...parts, tails }, settings.CORE_NAME);
  const debug = openDebug(settings, parts);
  const isRecorded = (): boolean => settings.SSH_RECORDING !== 'off';
  const terminals = createTerminals({ terminals: parts.agents.terminals, clock, isRecorded });
  const counters = new ConsoleCounters();
  const pages = openConsole(settings, { ...parts, rows: rows.consoleSessions, terminals, counters });
  const api = createApi({
    log,
    tracer,
    forwarding,
    ports: operationPorts(settings, parts, () => ({
      forwarding: forwarding.counters,
      terminals: terminals.readings(),
      console: counters.readings(),
    })),
    settings: {
      bodyBytesMax: settings.MAX_BODY_BYTES,
      recordings: { bytesMax: settings.SSH_RECORDING_MAX_BYTES },
      docsEnabled: settings.API_DOCS_ENABLED,
      consoleEnabled: settings.CONSOLE_ENABLED,
      proxyPorts: () => parts.proxies.ports(),
      version: parts.version,
      gate: parts.gate,
      ownNames: parts.ownNames,
      certificate: parts.certificate,
      trustedProxies: settings.TRUSTED_PROXIES ?? [],
    },
    mounts: [
      terminals.mount,
      mountTrpc(feeds, clock, pages.beside),
      mountRelays({ map: () => parts.vpn.relay.derpMap(), clustersOf: rows.relayClusters, clock }),
      mountMcp({
        offersPublicTools: settings.PUBLIC_ENROLLMENT_KEY_ENABLED && settings.DEFAULT_CLUSTER_NAME !== undefined,
        version: parts.version,
      }),
      ...(debug === null ? [] : [debug.mount]),
    ],
  });
  parts.ends.add('the API', () => api.close());
  rows.tellProblems(() => ownProblems(healthPorts(parts)));
  return { api, feeds, terminals, peerCalls: pages.withAssets(withDebugPage(debug?.page ?? null, api.peerCalls)) };
}

/** What surfaces count themselves. */
type OwnReadings = Pick<LiveReadings, 'forwarding' | 'terminals' | 'console'>;

function operationPorts(settings: SurfaceSettings, parts: SurfaceParts, own: () => OwnReadings): OperationPorts {
  const { rows, actors, agents, webhooks, publishing, clock, version } = parts;
  const { ask, ownership } = actors.tree;
  return {
    ...rows.operations,
    ask,
    consoleSessions: consoleSessions(rows.consoleSessions, createProver(parts.gate)),
    nodeMetrics: agents.nodeMetrics,
    nodeHistories: agents.nodeHistories,
    nodeSshSessions: agents.nodeSshSessions,
    nodeDiagnoses: agents.nodeDiagnoses,
    releases: parts.releases,
    adminMetrics: createAdminMetrics({
      version,
      name: settings.ADMIN_NAME,
      live: () => ({ ...liveReadings(parts), ...own() }),
      totals: () => rows.totals(publishing.broker !== null),
    }),
    proxyPorts: () => parts.proxies.ports(),
    clock,
    newId: createIds(() => clock.nowMs()),
    ...openChecks(healthPorts(parts)),
    urlGuard: webhooks.urlGuard,
    deliversWebhooks: () => publishing.deliversWebhooks(),
    standing: () => ownership.standing(),
    makeRoom: (cluster) => ownership.makeRoom(cluster),
    adminLink: (id) => adminLinkTo(id, { id: parts.adminId, name: settings.ADMIN_NAME }, parts.links.peers.states()),
    settings: {
      get adminUrls() {
        return parts.adminUrls();
      },
      metricsBaseUrl: settings.METRICS_BASE_URL ?? null,
      vpnDomain: settings.EDGE_VPN_DEFAULT_DOMAIN,
      coreName: settings.CORE_NAME,
      defaultClusterName: settings.DEFAULT_CLUSTER_NAME ?? null,
      publicEnrollmentKeyEnabled: settings.PUBLIC_ENROLLMENT_KEY_ENABLED,
    },
  };
}

/** What all parts count. */
function liveReadings(parts: SurfaceParts): Omit<LiveReadings, keyof OwnReadings> {
  return {
    ...parts.storage.readings(),
    ...parts.actors.readings(),
    ...parts.agents.readings(),
    ...parts.vpn.readings(),
    ...parts.publishing.readings(),
    ...parts.webhooks.readings(),
    ...parts.proxies.readings(),
    ...parts.links.readings(),
    traces: parts.tracing.counters,
    tls: parts.certificate?.readings() ?? null,
    releases: parts.releases.counters,
  };
}
