/**
 * The links between this admin and the others: calls and news both ways, and tunnels of agents that came to the wrong
 * one.
 */
import { randomUUID } from 'node:crypto';
import type { Bus } from '../../actors/bus.ts';
import type { Clock } from '../../actors/ports.ts';
import type { TailSource, TailsElsewhere } from '../../api/feeds/ports.ts';
import type { PeerCallHandler, PeerCalls } from '../../api/forwarding/ports.ts';
import { monotonicMs } from '../net/clock.ts';
import type { Log } from '../net/log.ts';
import type { AgentRelays } from '../open-agent-links.ts';
import type { CarriedReadings } from './carried-upgrades.ts';
import { Calls } from './calls.ts';
import { DatabaseCalls, type AdminTexts } from './database-calls.ts';
import { EitherWayCalls } from './either-way-calls.ts';
import { Entrances, type InternalServer } from './entrances.ts';
import { CALL_SLACK_BYTES } from './limits.ts';
import { NewsListener } from './news-listener.ts';
import { PeerKeys, type LinkRoot } from './peer-key.ts';
import { PeerProofs } from './peer-proofs.ts';
import { Peers, type CheckedIn, type PeerLink } from './peers.ts';
import { Probes } from './probes.ts';
import { LINK_VERSION_TAILS } from './protocol/version.ts';
import { AdminSessionRelay } from './session-relay.ts';
import { TailsOfOthers } from './tails-of-others.ts';
import { UpgradeRelay } from './upgrade-relay.ts';

/** What the keys of links are made for. Source: docs/decisions/admin-link.md. */
export const ROOT_KEY = 'edge admin link v1';

/** The settings for it, under their names. */
export interface AdminLinkSettings {
  readonly MAX_BODY_BYTES: number;
}

/** What the links need. */
export interface AdminLinkPorts {
  readonly adminId: string;
  /** Of this process. */
  readonly instanceId: string;
  /** Makes 32 bytes from each ENCRYPTION_KEY, first from the one that seals. */
  readonly vault: { roots(info: string): readonly LinkRoot[] };
  /** By which admins hear each other through the database. */
  readonly texts: AdminTexts;
  /** Tells who is alive, as often as it is known anew. */
  onAdmins(listener: (admins: readonly CheckedIn[]) => void): void;
  /** Commits of this admin, which others are told. */
  readonly bus: Pick<Bus, 'subscribe'>;
  /** Where theirs are told. */
  readonly news: Pick<Bus, 'publish'>;
  /** By the database. */
  readonly clock: Clock;
  readonly log: Log;
}

/** The links. */
export interface AdminLinks {
  readonly peers: Peers;
  readonly calls: PeerCalls & Pick<Calls, 'isLinked'>;
  readonly news: NewsListener;
  /** Live output that others are asked for. */
  readonly tails: TailsElsewhere;
  /** Pass tunnels and sessions on to the admins whose they are. */
  readonly relays: AgentRelays & { readonly sessions: AdminSessionRelay };
  /**
   * Other admins may come in by this server from now on; what they ask for is done by `handler`, and they may tail what
   * `tails` has.
   */
  admit(server: InternalServer, handler: PeerCallHandler, tails: TailSource): void;
  /**
   * New calls are told that this admin is busy; those that are under way get their answers. Tunnels end, and no news is
   * told any more.
   */
  dismiss(): void;
  /** For metrics. */
  readings(): { readonly adminLinks: AdminLinkReadings };
  /** Ends every connection to others. */
  close(): Promise<void>;
}

/** What goes between this admin and the others. Counts are since its start. */
export interface AdminLinkReadings {
  readonly links: readonly PeerLink[];
  /** Calls to others that are not answered yet. */
  readonly callsOpen: number;
  /** Calls whose answer came by way of the database, as the link was silent. */
  readonly callsDetoured: number;
  /** `in`: what others tell; `out`: what they are told. */
  readonly news: Readonly<
    Record<'in' | 'out', { readonly connections: number; readonly notices: number; readonly missed: number }>
  >;
  /** Upgrades of agents that are passed on to other admins. */
  readonly passedOn: Readonly<Record<'tunnels' | 'sessions', CarriedReadings>>;
}

/** Nobody is known yet, and nobody can come in before `admit`. */
export function openAdminLinks(settings: AdminLinkSettings, ports: AdminLinkPorts): AdminLinks {
  const { adminId, instanceId, vault, clock, log } = ports;
  const nowMs = (): number => clock.nowMs();
  const keys = new PeerKeys(() => vault.roots(ROOT_KEY), { admin: adminId, instance: instanceId });
  const peers = new Peers(adminId, { log, nowMs });
  const proofs = new PeerProofs({ keys, peers, nowMs, monotonicMs, log });
  const link = new Calls({ keys, peers, clock, monotonicMs });
  const database = new DatabaseCalls({ ...ports, keys, proofs, peers, monotonicMs, newId: randomUUID });
  const calls = new EitherWayCalls({ peers, link, database, clock, monotonicMs });
  const carrying = { keys, proofs, peers, clock, log };
  const relays = { tunnels: new UpgradeRelay(carrying), sessions: new AdminSessionRelay(carrying) };
  const probes = new Probes({ peers, calls: link, newId: randomUUID, monotonicMs });
  const tails = new TailsOfOthers({
    offersTails: (admin) => (peers.callable(admin)?.version ?? 0) >= LINK_VERSION_TAILS,
    say: (admin, message) => news.say(admin, message),
    clock,
  });
  const toNews = { keys, peers, clock, monotonicMs, random: Math.random };
  const news: NewsListener = new NewsListener({ ...toNews, news: ports.news, tails });
  let entrances: Entrances | null = null;
  ports.onAdmins((admins) => {
    peers.saw(admins);
    link.sweep();
    database.sweep();
    proofs.sweep();
    relays.sessions.sweep();
    entrances?.sweep();
    news.round();
    void probes.round();
  });
  return {
    peers,
    calls,
    news,
    tails,
    relays,
    admit(server, handler, source) {
      const callBytesMax = settings.MAX_BODY_BYTES + CALL_SLACK_BYTES;
      const calling = { keys, proofs, peers, handler, callBytesMax, clock, monotonicMs, log };
      entrances = new Entrances(server, { adminId, ...calling, bus: ports.bus, tails: source });
      database.admit(entrances.taken);
    },
    dismiss() {
      entrances?.close();
      relays.tunnels.close();
      relays.sessions.close();
    },
    readings: () => ({
      adminLinks: readingsOf({ peers, link, calls, news, relays, newsEntrance: entrances?.news ?? null }),
    }),
    close: () => {
      news.close();
      return link.close();
    },
  };
}

/** The parts that count. */
interface Counting {
  readonly peers: Peers;
  readonly link: Calls;
  readonly calls: EitherWayCalls;
  readonly news: NewsListener;
  readonly relays: { readonly tunnels: UpgradeRelay; readonly sessions: AdminSessionRelay };
  /** Null: nobody can come in yet. */
  readonly newsEntrance: Entrances['news'] | null;
}

function readingsOf({ peers, link, calls, news, relays, newsEntrance }: Counting): AdminLinkReadings {
  const told = newsEntrance?.counters ?? { notices: 0, missed: 0 };
  return {
    links: peers.states(),
    callsOpen: link.open(),
    callsDetoured: calls.detoured,
    news: {
      in: { connections: news.open(), ...news.counters },
      out: { connections: newsEntrance?.open() ?? 0, ...told },
    },
    passedOn: {
      tunnels: { ...relays.tunnels.open, outcomes: relays.tunnels.outcomes },
      sessions: relays.sessions.readings(),
    },
  };
}
