/** The debug dashboard of an admin, with what it shows of it and of others. */
import type { DebugInspection } from '../../actors/inspection.ts';
import { systemClock } from '../../transport/net/clock.ts';
import { linkSnapshot, type KnownLink } from '../forwarding/admin-links.ts';
import type { PeerCalls } from '../forwarding/ports.ts';
import { debugElsewhere } from './elsewhere.ts';
import { createDebug, type DebugDashboard } from './routes.ts';

/** The settings for it, under their names. */
export interface DebugSettings {
  readonly ADMIN_NAME: string;
  readonly AUTH_FAILURES_PER_MINUTE_MAX: number;
  readonly ADMIN_DEBUG_DASHBOARD_ENABLED: boolean;
  readonly ADMIN_DEBUG_AUTH_ENABLED: boolean;
  readonly ADMIN_DEBUG_DASHBOARD_USERNAME: string;
  readonly ADMIN_DEBUG_DASHBOARD_PASSWORD?: string | undefined;
}

/** The parts of the admin that it shows. */
export interface DebugParts {
  readonly version: string;
  readonly rows: { inspection(hasBroker: boolean): ReturnType<DebugInspection['database']> };
  /** `broker` null: events are published to none. */
  readonly publishing: { readonly broker: unknown };
  readonly actors: {
    readonly tree: { readonly directory: { readonly counters: ReturnType<DebugInspection['counters']> } };
    readonly inspection: Pick<DebugInspection, 'families' | 'search'>;
  };
  readonly agents: {
    readonly sessions: {
      snapshots(limit: number): ReturnType<DebugInspection['sessions']>['sessions'];
      count(): number;
    };
  };
  readonly links: { readonly peers: { states(): readonly KnownLink[] }; readonly calls: PeerCalls };
}

/** Null: it is switched off. */
export function openDebug(settings: DebugSettings, parts: DebugParts): DebugDashboard | null {
  const { version, rows, publishing, actors, agents, links } = parts;
  if (!settings.ADMIN_DEBUG_DASHBOARD_ENABLED) return null;
  const credentials = settings.ADMIN_DEBUG_AUTH_ENABLED
    ? { username: settings.ADMIN_DEBUG_DASHBOARD_USERNAME, password: settings.ADMIN_DEBUG_DASHBOARD_PASSWORD ?? '' }
    : null;
  const { sessions } = agents;
  return createDebug({
    admin: { name: settings.ADMIN_NAME, version },
    credentials,
    failuresPerMinuteMax: settings.AUTH_FAILURES_PER_MINUTE_MAX,
    clock: systemClock,
    elsewhere: debugElsewhere(links.peers, links.calls),
    inspection: {
      ...actors.inspection,
      counters: () => actors.tree.directory.counters,
      sessions: (limit) => ({ sessions: sessions.snapshots(limit), total: sessions.count() }),
      links: () => links.peers.states().map(linkSnapshot),
      database: () => rows.inspection(publishing.broker !== null),
    },
  });
}
