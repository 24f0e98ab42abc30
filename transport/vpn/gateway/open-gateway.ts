/** The gateway of an admin, made of what its settings say and what its machine can do. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { RelayMap } from '../relay-map/map.ts';
import { MapSource } from '../relay-map/map-source.ts';
import { createVet } from '../../net/outbound-guard/vetting.ts';
import { createMember } from '../member/create-member.ts';
import { makeKeyPair } from '../wireguard/keys.ts';
import { DEVICE_LIMITS } from '../wireguard/limits.ts';
import { removeDevice } from '../wireguard/open.ts';
import { Gateway, type GatewayPorts } from './gateway.ts';
import { createFirewall } from './firewall.ts';

/** Digits of an interface's name: 15 characters are what Linux takes. */
const NAME_DIGITS = 9;

/**
 * The relay map is asked for again after this, in ms: at least as often as agents do, and sooner while there is none.
 * Source: docs/architecture/sessions.md.
 */
const MAP_REFRESH_MS = 300_000;
const MAP_RETRY_MS = 10_000;

/** What the settings say. */
export interface GatewaySettings {
  readonly isEnabled: boolean;
  /** UDP; 0 is a free one. */
  readonly port: number;
  readonly host: string | null;
  readonly peersMax: number;
}

/** What it needs besides them. */
export interface OpenGatewayPorts extends Omit<
  GatewayPorts,
  'keys' | 'open' | 'firewall' | 'host' | 'limits' | 'followRelayMap'
> {
  /** As agents are told them. */
  readonly relayMapUrls: () => readonly string[];
  /** Told after each look whether none of the URLs gave a map, though there are some. */
  readonly relayMapMissing?: (isMissing: boolean) => void;
  /** Of the admins, which may have a relay map wherever they are. */
  readonly adminUrls: () => readonly string[];
}

/**
 * Not open yet: a machine without rights has none. The keys are of this run alone, and leave its memory only for the
 * interface.
 */
export function openGateway(
  adminId: string,
  { isEnabled, port, host, peersMax }: GatewaySettings,
  ports: OpenGatewayPorts,
): Gateway {
  const interfaceName = gatewayInterface(adminId);
  const maps = new MapSource({ vet: createVet({ allowPrivate: false }), trusted: ports.adminUrls }, null);
  return new Gateway({
    ...ports,
    host,
    limits: { peersMax: Math.min(peersMax, DEVICE_LIMITS.peersMax), addressesMax: DEVICE_LIMITS.addressesMax },
    keys: makeKeyPair(),
    firewall: createFirewall(interfaceName),
    open: isEnabled
      ? async (wanted, memberPorts) => {
          // What a killed run left has the port, and is of no use: its key was of that run alone.
          await removeDevice(interfaceName).catch((error: unknown) => {
            ports.log.warn({ error }, 'what an admin that was killed left of its gateway could not be removed');
          });
          return createMember({ interfaceName, listenPort: await freePort(port), wanted }, memberPorts);
        }
      : null,
    followRelayMap: (mapped) => followRelayMap(maps, ports, mapped),
  });
}

/** Looks for the map again and again; the answer ends it. */
function followRelayMap(
  maps: MapSource,
  { relayMapUrls, relayMapMissing, clock }: Pick<OpenGatewayPorts, 'relayMapUrls' | 'relayMapMissing' | 'clock'>,
  mapped: (map: RelayMap | null) => void,
): () => void {
  const ended = new AbortController();
  let cancelRefresh = (): void => {};
  void refresh();
  return () => {
    ended.abort();
    cancelRefresh();
  };

  async function refresh(): Promise<void> {
    const urls = relayMapUrls();
    const known = await maps.refresh(urls, ended.signal);
    if (ended.signal.aborted) return;
    relayMapMissing?.(maps.problems().length > 0);
    mapped(known?.map ?? null);
    cancelRefresh = clock.after(known === null ? MAP_RETRY_MS : MAP_REFRESH_MS, () => void refresh());
  }
}

/**
 * The interface of an admin, its own among those of one machine, and the same after a restart: what a killed process
 * left is taken away.
 */
export function gatewayInterface(adminId: string): string {
  const number = BigInt(`0x${adminId.replaceAll('-', '')}`) % 10n ** BigInt(NAME_DIGITS);
  return `edgegw${String(number).padStart(NAME_DIGITS, '0')}`;
}

/** This UDP port, or a free one where somebody has it: members learn of either by the rows. */
async function freePort(wanted: number): Promise<number> {
  for (const port of wanted === 0 ? [0] : [wanted, 0]) {
    const socket = createSocket('udp4');
    try {
      socket.bind(port);
      await once(socket, 'listening');
      return socket.address().port;
    } catch {
      // somebody has it
    } finally {
      socket.close();
    }
  }
  return wanted;
}
