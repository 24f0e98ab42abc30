/** The VPN of an admin: who coordinates it, and this admin's own gateway, observer and relay. */
import type { Addressed } from '../../actors/messages.ts';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../net/log.ts';
import type { EmbeddedVpnRows, VpnHostRows } from '../../actors/vpn/rows.ts';
import type { VpnManager } from '../../actors/vpn/vpn.ts';
import { monotonicMs } from '../net/clock.ts';
import type { Unwind } from '../net/unwind.ts';
import type { ClusterId } from '../protocol/ids.ts';
import { RELAY_MAP_PATH } from '../protocol/version.ts';
import type { VpnSettings as VpnSettingsOfAgents } from '../protocol/vpn.ts';
import type { AgentSettingsBoard } from '../sessions/agent-settings.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { createTunnelGate } from '../tunnels/gate.ts';
import type { Tunnels } from '../tunnels/tunnels.ts';
import { createEmbeddedVpn } from './embedded.ts';
import type { Gateway, GatewayPorts, GatewayReadings } from './gateway/gateway.ts';
import { openGateway } from './gateway/open-gateway.ts';
import { NetmakerVpn } from './netmaker/netmaker.ts';
import {
  startAdminObserver,
  type AdminObserver,
  type AdminObserverPorts,
  type AdminObserverSettings,
} from './observer/admin-observer.ts';
import {
  createEmbeddedRelay,
  type EmbeddedRelay,
  type EmbeddedRelaySettings,
  type EmbeddedRelayState,
} from './relay/embedded.ts';
import { LiveRelays } from './relay/live-relays.ts';
import type { OwnRegion } from './relay/map.ts';

/** A region's code may have so many characters. Source: transport/vpn/relay-map/map.ts. */
const CODE_CHARACTERS_MAX = 64;

/** The settings for it, under their names. */
export interface VpnSettings extends AdminObserverSettings, EmbeddedRelaySettings {
  readonly ADMIN_NAME: string;
  readonly EDGE_VPN_API_URL?: string | undefined;
  /** There when the URL is. */
  readonly EDGE_VPN_MASTER_KEY?: string | undefined;
  readonly EDGE_VPN_DEFAULT_DOMAIN: string;
  readonly ADMIN_GATEWAY_ENABLED: boolean;
  readonly ADMIN_WIREGUARD_PORT: number;
  readonly ADMIN_WIREGUARD_HOST?: string | undefined;
  readonly ADMIN_MAX_WIREGUARD_PEERS: number;
}

/** What the rows say of it. */
export interface VpnStorage extends Pick<AdminObserverPorts, 'memberOf'> {
  readonly hosts: VpnHostRows;
  readonly embedded: EmbeddedVpnRows;
  /** In whose VPNs a key is. */
  readonly clustersOf: (publicKey: string) => Promise<readonly string[]>;
  readonly storeGateway: GatewayPorts['store'];
  /** Relays inside admins. */
  readonly relays: {
    region(): Promise<number>;
    publish(relay: Omit<OwnRegion, 'id'> | null): Promise<void>;
    live(): Promise<readonly OwnRegion[]>;
  };
}

/** What it needs. */
export interface VpnPorts {
  readonly adminId: string;
  readonly rows: VpnStorage;
  /** Clusters of this admin, with the epochs under which it owns them. */
  readonly held: {
    holds(cluster: ClusterId): boolean;
    leaseOf(cluster: ClusterId): { readonly epoch: number };
    isFresh(cluster: ClusterId): boolean;
  };
  readonly directory: { tell(addressed: Addressed): unknown };
  readonly sessions: Pick<Sessions, 'sendToNode' | 'isSecure'>;
  readonly tunnels: Pick<Tunnels, 'redeem' | 'accept'>;
  /** Tunnels are asked for through it where it knows the way of a node. */
  readonly preferVpn: (urlOf: Gateway['urlFor']) => void;
  /** Grows by what is opened here. */
  readonly told: AgentSettingsBoard;
  readonly urls: { all(): readonly string[]; own(): string };
  readonly clock: Clock;
  readonly log: Log;
  /** Gets what is to be ended, as it is opened; but the gateway, whose end has its place between those of others. */
  readonly ends: Pick<Unwind, 'add'>;
}

/** How the relay of this admin is. */
export interface OwnRelayState extends Omit<EmbeddedRelayState, 'region'> {
  /** The map that all admins serve names it. */
  readonly isMapped: boolean;
}

/** What was opened. */
export interface Vpn {
  readonly manager: VpnManager;
  readonly gateway: Gateway;
  /** `derpMap`: of all relays inside admins that live, as it is published; null: there are none. */
  readonly relay: {
    derpMap(): unknown;
    changed(cluster: ClusterId | null): void;
    /** How this admin's own is (null: it is off), and whether its gateway finds no map at any of its URLs. */
    state(): { readonly own: OwnRelayState | null; readonly isMapMissing: boolean };
  };
  /** Sees from where members come from now on, where that is switched on. Agents are told by whom. */
  observe(): Promise<void>;
  /**
   * Relays from now on, where that is switched on, and tells agents of all relays inside admins. `step` does what needs
   * the database. Rejects with a line for the operator.
   */
  relayFor(step: <Result>(what: string, work: () => Promise<Result>) => Promise<Result>): Promise<void>;
  /** For metrics. */
  readings(): VpnReadings;
}

/** What happened so far, and what is open. */
export interface VpnReadings {
  readonly gateway: GatewayReadings | null;
  readonly observer: ReturnType<AdminObserver['readings']>;
  readonly relay: ReturnType<EmbeddedRelay['readings']>;
}

/** Nothing listens yet. Where another service coordinates, there is no gateway and no observer. */
export function openVpn(settings: VpnSettings, ports: VpnPorts): Vpn {
  const { rows, told, urls, clock, log, ends } = ports;
  const manager = managerOf(settings, rows);
  ends.add('the VPN manager', () => manager.close());
  const isEmbedded = manager.kind === 'embedded';
  let isMapMissing = false;
  const gateway = gatewayOf(settings, ports, isEmbedded, (isMissing) => {
    isMapMissing = isMissing;
  });
  ports.preferVpn((node) => gateway.urlFor(node));
  const relay = createEmbeddedRelay(settings, { clustersOf: rows.clustersOf, nowMs: () => clock.nowMs(), log });
  const relays = new LiveRelays({ read: () => rows.relays.live(), clock, log });
  let observer: AdminObserver | null = null;
  return {
    manager,
    gateway,
    relay: {
      derpMap: () => relays.map(),
      changed: (cluster) => relay.changed(cluster),
      state: () => ({ own: ownState(relay.state(), relays), isMapMissing }),
    },
    async observe() {
      const started = await startAdminObserver(
        { ...settings, ADMIN_OBSERVER_ENABLED: settings.ADMIN_OBSERVER_ENABLED && isEmbedded },
        {
          memberOf: rows.memberOf,
          owns: (cluster) => ports.held.holds(cluster),
          tell: (addressed) => void ports.directory.tell(addressed),
          clock,
          monotonicMs,
          log,
        },
      );
      observer = started;
      ends.add('the observer', () => started.close());
      told.coordinates(() => coordinated(isEmbedded, started));
    },
    async relayFor(step) {
      ends.add('the relay', () => relay.close());
      const own = await relay.open(urls.own(), async () => ({
        id: await step('the region of its relay', () => rows.relays.region()),
        code: settings.ADMIN_NAME.slice(0, CODE_CHARACTERS_MAX),
      }));
      await step('saying where its relay is', () => rows.relays.publish(own));
      await relays.start();
      ends.add('relays of admins', () => relays.stop());
      told.relaysAt(() => {
        const version = relays.version();
        if (version === '') return [];
        // not every machine reaches this admin by its own URL, and all admins have the same map
        return [urls.own(), ...urls.all()].map((url) => `${url}${RELAY_MAP_PATH}?version=${version}`);
      });
    },
    readings: () => ({
      gateway: gateway.readings(),
      observer: observer?.readings() ?? null,
      relay: relay.readings(),
    }),
  };
}

function coordinated(isEmbedded: boolean, observer: AdminObserver): VpnSettingsOfAgents {
  return isEmbedded ? { mode: 'embedded', observers: [...observer.observers()] } : { mode: 'netmaker' };
}

/** Netmaker where its URL is set, else the service itself. Opens nothing before the first call. */
function managerOf(
  { EDGE_VPN_API_URL: url, EDGE_VPN_MASTER_KEY: masterKey = '', EDGE_VPN_DEFAULT_DOMAIN: domain }: VpnSettings,
  { hosts, embedded }: VpnStorage,
): VpnManager {
  return url === undefined
    ? createEmbeddedVpn(embedded)
    : new NetmakerVpn({ url, masterKey, domain, rows: hosts, nowMs: () => Date.now() });
}

function ownState(state: EmbeddedRelayState | null, relays: LiveRelays): OwnRelayState | null {
  if (state === null) return null;
  const { region, ...rest } = state;
  return { ...rest, isMapped: region !== null && relays.names(region) };
}

function gatewayOf(
  settings: VpnSettings,
  ports: VpnPorts,
  isEmbedded: boolean,
  relayMapMissing: (isMissing: boolean) => void,
): Gateway {
  const { adminId, rows, held, sessions, tunnels, told, urls, clock, log } = ports;
  return openGateway(
    adminId,
    {
      isEnabled: settings.ADMIN_GATEWAY_ENABLED && isEmbedded,
      port: settings.ADMIN_WIREGUARD_PORT,
      host: settings.ADMIN_WIREGUARD_HOST ?? null,
      peersMax: settings.ADMIN_MAX_WIREGUARD_PEERS,
    },
    {
      clock,
      log,
      monotonicMs,
      relayMapUrls: () => told.settings.derp_map_urls,
      relayMapMissing,
      adminUrls: () => urls.all(),
      isPlain: (node) => !sessions.isSecure(node) || urls.own().startsWith('http:'),
      upgrade: createTunnelGate(tunnels, 'mesh'),
      send: (node, frame) => void sessions.sendToNode(node, frame),
      epochOf: (cluster) => (held.holds(cluster) ? held.leaseOf(cluster).epoch : null),
      isFresh: (cluster) => held.isFresh(cluster),
      store: rows.storeGateway,
    },
  );
}
