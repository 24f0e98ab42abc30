/** The observer of an admin: whom it takes for members, and who is told where they are. */
import type { Clock } from '../../../actors/ports.ts';
import type { Log } from '../../net/log.ts';
import type { Addressed } from '../../../actors/messages.ts';
import type { ClusterId, NodeId } from '../../protocol/ids.ts';
import type { VpnObserver } from '../../protocol/vpn.ts';
import type { ObserverCounters } from './counters.ts';
import { EndpointObserver } from './observer.ts';

/** What the admin's settings say of it. */
export interface AdminObserverSettings {
  readonly ADMIN_OBSERVER_ENABLED: boolean;
  readonly ADMIN_OBSERVER_HOST: string;
  readonly ADMIN_OBSERVER_PORT: number;
}

/** What it asks, and whom it tells. */
export interface AdminObserverPorts {
  /** Who has this public key; null: nobody. */
  readonly memberOf: (publicKey: string) => Promise<{ readonly node: NodeId; readonly cluster: ClusterId } | null>;
  /**
   * Whether this admin owns the cluster. Agents use the observers of the admin that they have a session with, which is
   * the owner. What is seen of others is not told.
   */
  readonly owns: (cluster: ClusterId) => boolean;
  readonly tell: (addressed: Addressed) => void;
  readonly clock: Pick<Clock, 'after'>;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** A running one, or none. */
export interface AdminObserver {
  /**
   * As agents are told of them now: at the host of the URL that they use. None: it is switched off, or no port could be
   * had yet.
   */
  observers(): readonly VpnObserver[];
  /** For metrics. Null: it is switched off. */
  readings():
    | (Readonly<ObserverCounters> & {
        readonly ports: Readonly<Record<'open' | 'closed' | 'missing', number>>;
        readonly members: number;
      })
    | null;
  close(): Promise<void>;
}

/** Starts it, unless it is switched off. */
export async function startAdminObserver(
  settings: AdminObserverSettings,
  ports: AdminObserverPorts,
): Promise<AdminObserver> {
  if (!settings.ADMIN_OBSERVER_ENABLED)
    return { observers: () => [], readings: () => null, close: () => Promise.resolve() };
  const { memberOf, owns, tell, ...rest } = ports;
  const observer = await EndpointObserver.start({
    host: settings.ADMIN_OBSERVER_HOST,
    port: settings.ADMIN_OBSERVER_PORT,
    memberOf,
    ...rest,
    seen({ node, cluster }, publicKey, { endpoint, isStable }) {
      if (owns(cluster))
        tell({ to: { kind: 'node', id: node }, message: { type: 'vpn-observed', publicKey, endpoint, isStable } });
    },
  });
  return {
    observers: () => observer.places.map(({ port, publicKey }) => ({ host: null, port, public_key: publicKey })),
    readings: () => ({ ...observer.counters, ports: observer.ports(), members: observer.members() }),
    close: () => observer.close(),
  };
}
