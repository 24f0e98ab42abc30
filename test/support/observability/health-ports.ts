/** What health asks of an admin, as a test sets it. */
import { WHOLE } from '../../../actors/standing.ts';
import type { HealthPorts } from '../../../api/health/ports.ts';

/** An admin that is well, with everything switched on. */
export function wellPorts(more: Partial<HealthPorts> = {}): HealthPorts {
  return {
    rows: {
      write: () => Promise.resolve(true),
      registrationAgeMs: () => Promise.resolve(800),
      unrecordedClusters: () => Promise.resolve(0),
      eventsLieBehind: () => Promise.resolve(false),
      admins: () => Promise.resolve({ total: 2, silent: 0, draining: 0 }),
      isDraining: () => Promise.resolve(false),
      clusters: () => Promise.resolve({ total: 7, ownerless: 0 }),
      idleTasks: () => Promise.resolve([]),
    },
    peers: { unheard: () => Promise.resolve({ total: 2, unheard: 0 }) },
    links: () => ({ total: 1, unreached: 0 }),
    clock: { skewMs: () => 3, isSkewed: () => false },
    leasesQuietMs: () => 900,
    lateClusters: () => 0,
    standing: () => WHOLE,
    vpnManager: { status: () => Promise.resolve(null) },
    vpnClient: { state: () => ({ isHere: true, problem: null, note: null }) },
    proxies: () => ({ http: true, socks5: true }),
    relay: () => ({ own: { isListening: true, certificateLeftMs: null, isMapped: true }, isMapMissing: false }),
    broker: { isReached: () => true, backlog: () => Promise.resolve(0) },
    releasesLeftMs: async () => 30 * 86_400_000,
    certificate: () => ({ leftMs: 30 * 86_400_000, isRefused: false }),
    ...more,
  };
}
