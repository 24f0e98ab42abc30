/** What the checks ask of the parts of an admin. */
import type { HealthPorts } from './ports.ts';

/** The parts that they look at. */
export interface HealthParts extends Pick<HealthPorts, 'peers'> {
  readonly rows: {
    readonly health: HealthPorts['rows'];
    /** Events that wait for the broker, at most `max`. */
    brokerBacklog(max: number): Promise<number>;
  };
  readonly actors: {
    readonly tree: {
      readonly ownership: {
        quietMs(): number;
        late(ms: number): number;
        standing(): ReturnType<HealthPorts['standing']>;
      };
    };
  };
  readonly vpn: {
    readonly manager: HealthPorts['vpnManager'];
    readonly gateway: HealthPorts['vpnClient'];
    readonly relay: { state(): ReturnType<HealthPorts['relay']> };
  };
  readonly publishing: { readonly broker: { problem(): string | null } | null };
  readonly proxies: {
    readonly isEnabled: boolean;
    running(): { readonly http: Listening; readonly socks5: Listening } | null;
  };
  readonly links: { readonly peers: { states(): readonly { readonly state: { readonly type: string } }[] } };
  readonly releases: { leftMs(): Promise<number | null> };
  /** Null: it serves plain HTTP. */
  readonly certificate: { readings(): { readonly expiresAtMs: number; readonly isRefused: boolean } } | null;
  readonly clock: HealthPorts['clock'] & { nowMs(): number };
}

interface Listening {
  isListening(): boolean;
}

/** Each is asked anew at each check. */
export function healthPorts(parts: HealthParts): HealthPorts {
  const { rows, actors, vpn, publishing, proxies, peers, links, clock, certificate } = parts;
  const { ownership } = actors.tree;
  const { broker } = publishing;
  return {
    rows: rows.health,
    peers,
    links: () => {
      const all = links.peers.states();
      return { total: all.length, unreached: all.filter(({ state }) => state.type === 'unreached').length };
    },
    clock,
    leasesQuietMs: () => ownership.quietMs(),
    lateClusters: (ms) => ownership.late(ms),
    standing: () => ownership.standing(),
    vpnManager: vpn.manager,
    vpnClient: vpn.gateway,
    relay: () => vpn.relay.state(),
    proxies: proxies.isEnabled
      ? () => ({
          http: proxies.running()?.http.isListening() === true,
          socks5: proxies.running()?.socks5.isListening() === true,
        })
      : null,
    releasesLeftMs: () => parts.releases.leftMs(),
    certificate:
      certificate === null
        ? null
        : () => {
            const { expiresAtMs, isRefused } = certificate.readings();
            return { leftMs: expiresAtMs - clock.nowMs(), isRefused };
          },
    broker:
      broker === null
        ? null
        : { isReached: () => broker.problem() === null, backlog: (max) => rows.brokerBacklog(max) },
  };
}
