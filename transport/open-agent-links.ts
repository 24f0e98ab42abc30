/** The links between this admin and its agents: control sessions, tunnels, and what is asked over them. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Bus } from '../actors/bus.ts';
import type { Addressed } from '../actors/messages.ts';
import type { Clock } from '../actors/ports.ts';
import type { Log } from './net/log.ts';
import type { Tracer } from '../actors/tracer.ts';
import type { NodeDiagnoses, NodeHistories, NodeMetrics, NodeSshSessions } from '../api/node-ports.ts';
import { Diagnoses } from './diagnoses/diagnoses.ts';
import type { DiagnosisPorts } from './diagnoses/ports.ts';
import { createScrapeCounters } from './metrics/counters.ts';
import { createHistories } from './metrics/histories.ts';
import { createScrapes } from './metrics/scrapes.ts';
import { monotonicMs } from './net/clock.ts';
import type { Unwind } from './net/unwind.ts';
import { createAddressLimiter } from './net/window-limiter.ts';
import type { AgentSettings } from './protocol/agent-settings.ts';
import type { ClusterId, NodeId } from './protocol/ids.ts';
import { PROTOCOL_VERSION_FALLBACK, SESSION_PATH, TUNNEL_PATH } from './protocol/version.ts';
import { createSessionGate, type GatePorts, type SessionRelay } from './sessions/gate.ts';
import { endRevoked } from './sessions/revocations.ts';
import { Sessions } from './sessions/sessions.ts';
import { tracedRequests } from './tracing/traced-requests.ts';
import { AgentRequests, type AgentRequestPorts } from './tunnels/agent-requests.ts';
import { createTunnelGate, type TunnelRelay } from './tunnels/gate.ts';
import { createSshSessions } from './terminals/ssh-sessions.ts';
import { createTerminals } from './terminals/terminals.ts';
import type { Terminals } from '../api/terminal/ports.ts';
import { createReach, type Reach, type ReachPorts } from './tunnels/reach.ts';
import { tagOf } from './tunnels/token.ts';
import { Tunnels } from './tunnels/tunnels.ts';
import { countWrongTokens } from './tunnels/wrong-tokens.ts';

/** Wrong tokens are counted over this, in ms, and of so many addresses at once. */
const FAILURES_WINDOW_MS = 60_000;
const FAILURES_ADDRESSES_MAX = 10_000;

/** The settings for it, under their names. */
export interface AgentLinkSettings {
  readonly EDGE_VPN_DEFAULT_DOMAIN: string;
  readonly METRICS_SCRAPE_TIMEOUT_MS: number;
  readonly AUTH_FAILURES_PER_MINUTE_MAX: number;
}

/** What the rows say of agents. Each call rejects with DatabaseUnavailable, but `askOwner`. */
export interface AgentRows
  extends
    Pick<GatePorts, 'nodeByToken' | 'deletedByToken' | 'ownerOf'>,
    Pick<AgentRequestPorts, 'endpointOf'>,
    Pick<ReachPorts, 'nodeByName'> {
  readonly diagnoses: DiagnosisPorts['rows'];
  /**
   * Has the admin that owns the node's cluster ask its agent for a tunnel to this URL. False: there is no such other
   * admin, or nobody can be asked.
   */
  askOwner(node: NodeId, token: string, url: string): Promise<boolean>;
}

/** What the links need. */
export interface AgentLinkPorts {
  readonly adminId: string;
  /** Of this program. */
  readonly version: string;
  readonly rows: AgentRows;
  /** What agents are told, read anew each time. */
  readonly told: { readonly settings: AgentSettings };
  readonly urls: { own(): string };
  /** Takes what agents say. False: the mailbox is full. */
  readonly directory: { tell(addressed: Addressed): boolean };
  /**
   * Clusters of this admin: those it owns, and among them those that it only holds for the moment, or that are on their
   * way to another one, which alone have no epoch (with `isFresh` false).
   */
  readonly held: { holds(cluster: ClusterId): boolean; epochOf(cluster: ClusterId, isFresh: boolean): number | null };
  readonly ownership: {
    isTemporary(cluster: ClusterId): boolean;
    /** Whether other admins live, to which agents may come in place of this one. */
    hasPeers(): boolean;
  };
  readonly bus: Bus;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly log: Log;
  /** Gets what is to be ended, once somebody can come in. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** A server that hands upgrades of a path on. */
export interface UpgradeServer {
  onUpgrade(path: string, handler: (request: IncomingMessage, socket: Duplex, head: Buffer) => void): void;
}

/** By which what came to the wrong admin gets to the right one. */
export interface AgentRelays {
  readonly tunnels: TunnelRelay;
  readonly sessions: SessionRelay;
}

/** The links. */
export interface AgentLinks {
  readonly sessions: Sessions;
  readonly tunnels: Tunnels;
  /** Where clients of proxies are taken. */
  readonly reach: Reach;
  /** Where somebody logs in by SSH. */
  readonly terminals: Terminals;
  readonly nodeMetrics: NodeMetrics;
  readonly nodeHistories: NodeHistories;
  readonly nodeSshSessions: NodeSshSessions;
  readonly nodeDiagnoses: NodeDiagnoses;
  /** Tunnels are asked for through the VPN from now on, where `urlOf` knows the way of a node. */
  preferVpn(urlOf: (node: NodeId) => string | null): void;
  /**
   * Agents may come in by this server from now on; `relays` have tunnels and sessions of other admins. Its own end
   * comes after those of sessions and tunnels.
   */
  admit(server: UpgradeServer, relays: AgentRelays): void;
  /** For metrics. */
  readings(): AgentLinkReadings;
}

/** What happened so far, and what is open. */
export interface AgentLinkReadings {
  readonly sessions: Sessions['counters'] & { readonly open: number };
  readonly tunnels: { readonly open: number; readonly opened: Readonly<Record<string, number>> };
  readonly scrapes: ReturnType<typeof createScrapeCounters>['by'];
}

/** Nobody is connected, and nobody can be before `admit`. */
export function openAgentLinks(settings: AgentLinkSettings, ports: AgentLinkPorts): AgentLinks {
  const { rows, bus, clock, log, ownership } = ports;
  let vpnUrlOf: (node: NodeId) => string | null = () => null;
  const sessions = new Sessions({
    clock,
    log,
    get settings() {
      return ports.told.settings;
    },
    tell: (addressed) => ports.directory.tell(addressed),
    holds: (cluster) => ports.held.epochOf(cluster, false) !== null,
    revoked: (node) => bus.publish([{ type: 'node-revoked', node }]),
    welcomed: (node) => tunnels.welcomed(node),
  });
  const tunnels = new Tunnels({
    clock,
    log,
    monotonicMs,
    send: (node, frame) => sessions.sendToNode(node, frame),
    askOwner: (node, token) => rows.askOwner(node, token, ports.urls.own()),
    tag: tagOf(ports.adminId),
    // A session may have come by a balancer, which leads to any admin. An older agent knows no other way than one URL:
    // that of its session always leads here, if by another admin. One whose session is relayed does not get here
    // straight: it takes that way at once.
    ownUrl: (node) =>
      ownership.hasPeers() &&
      sessions.protocolOf(node) >= PROTOCOL_VERSION_FALLBACK &&
      sessions.relayedBy(node) === null
        ? ports.urls.own()
        : null,
    vpnUrl: (node) => vpnUrlOf(node),
  });
  endRevoked(bus, sessions, tunnels);
  const scrapes = createScrapeCounters();
  return {
    sessions,
    tunnels,
    reach: createReach({ tunnels, nodeByName: rows.nodeByName, domain: settings.EDGE_VPN_DEFAULT_DOMAIN }),
    terminals: createTerminals(tunnels, ports.log),
    ...questionsTo({ sessions, tunnels }, settings, ports, scrapes),
    preferVpn(urlOf) {
      vpnUrlOf = urlOf;
    },
    admit(server, relays) {
      server.onUpgrade(SESSION_PATH, createSessionGate(gatePorts(settings, sessions, relays.sessions, ports)));
      server.onUpgrade(
        TUNNEL_PATH,
        createTunnelGate(tunnels, 'url', { relay: relays.tunnels, wrong: countWrongTokens(monotonicMs, log) }),
      );
      ports.ends.add('sessions', () => sessions.close());
      ports.ends.add('tunnels', () => tunnels.close());
    },
    readings: () => ({
      sessions: { open: sessions.count(), ...sessions.counters },
      tunnels: { open: tunnels.count(), opened: { ...tunnels.counters.opened } },
      scrapes: scrapes.by,
    }),
  };
}

/** What is asked of agents on behalf of clients. */
function questionsTo(
  { sessions, tunnels }: Pick<AgentLinks, 'sessions' | 'tunnels'>,
  settings: AgentLinkSettings,
  { adminId, version, rows, tracer, clock, log }: AgentLinkPorts,
  scrapes: ReturnType<typeof createScrapeCounters>,
): Pick<AgentLinks, 'nodeMetrics' | 'nodeHistories' | 'nodeSshSessions' | 'nodeDiagnoses'> {
  const requests = tracedRequests(new AgentRequests({ tunnels, endpointOf: rows.endpointOf }), tracer);
  return {
    nodeMetrics: createScrapes({
      requests,
      msMax: settings.METRICS_SCRAPE_TIMEOUT_MS,
      scraped: (...one) => scrapes.scraped(...one),
    }),
    nodeHistories: createHistories({ requests, msMax: settings.METRICS_SCRAPE_TIMEOUT_MS }),
    nodeSshSessions: createSshSessions({
      requests,
      ranges: (node) => rows.diagnoses.ranges(node),
      msMax: settings.METRICS_SCRAPE_TIMEOUT_MS,
    }),
    nodeDiagnoses: new Diagnoses({
      requests,
      tunnels,
      hasSession: (node) => sessions.has(node),
      relayedBy: (node) => sessions.relayedBy(node),
      rows: rows.diagnoses,
      adminId,
      version,
      clock,
      log,
    }),
  };
}

/** A cluster that is held for the moment only has no owner to send its agents to. */
function gatePorts(
  settings: AgentLinkSettings,
  sessions: Sessions,
  relay: SessionRelay,
  ports: AgentLinkPorts,
): GatePorts {
  const { rows, held, ownership, clock, log } = ports;
  return {
    monotonicMs,
    sessions,
    relay,
    log,
    wrongTokens: createAddressLimiter(
      {
        perWindowMax: settings.AUTH_FAILURES_PER_MINUTE_MAX,
        windowMs: FAILURES_WINDOW_MS,
        keysMax: FAILURES_ADDRESSES_MAX,
      },
      clock,
    ),
    nodeByToken: (hash) => rows.nodeByToken(hash),
    deletedByToken: (hash) => rows.deletedByToken(hash),
    owns: (cluster) => held.holds(cluster) && !ownership.isTemporary(cluster),
    ownerOf: async (cluster) => (ownership.isTemporary(cluster) ? null : rows.ownerOf(cluster)),
  };
}
