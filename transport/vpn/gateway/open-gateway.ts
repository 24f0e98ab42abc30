/** The gateway of an admin, made of what its settings say and what its machine can do. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createMapSource } from '../derp/map-source.ts';
import { createVet } from '../../net/guard/vetting.ts';
import { createMember } from '../member/create-member.ts';
import { makeKeyPair } from '../wireguard/keys.ts';
import { DEVICE_LIMITS } from '../wireguard/limits.ts';
import { createGateway } from './gateway.ts';
import type { Gateway, GatewayPorts } from './gateway.ts';
import { createFirewall } from './firewall.ts';

/** Digits of an interface's name: 15 characters are what Linux takes. */
const NAME_DIGITS = 9;

/**
 * The relay map is asked for again after this, in ms: at least as often as agents do, and sooner while there is none.
 * Source: docs/architecture.md, Sessions.
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
export interface OpenGatewayPorts extends Omit<GatewayPorts, 'keys' | 'open' | 'firewall' | 'host' | 'limits'> {
  /** As agents are told them. */
  readonly relayMapUrls: () => readonly string[];
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
  const ended = new AbortController();
  const maps = createMapSource({ vet: createVet({ allowPrivate: false }), trusted: ports.adminUrls }, null);
  let cancelRefresh = (): void => {};
  const gateway = createGateway({
    ...ports,
    host,
    limits: { peersMax: Math.min(peersMax, DEVICE_LIMITS.peersMax), addressesMax: DEVICE_LIMITS.addressesMax },
    keys: makeKeyPair(),
    firewall: createFirewall(interfaceName),
    open: isEnabled
      ? async (wanted, memberPorts) => {
          const created = await createMember({ interfaceName, listenPort: await freePort(port), wanted }, memberPorts);
          if (created.ok) void refreshMap();
          return created;
        }
      : null,
  });
  return {
    ...gateway,
    async close() {
      ended.abort();
      cancelRefresh();
      await gateway.close();
    },
  };

  async function refreshMap(): Promise<void> {
    const known = await maps.refresh(ports.relayMapUrls(), ended.signal);
    if (ended.signal.aborted) return;
    gateway.mapped(known?.map ?? null);
    cancelRefresh = ports.clock.after(known === null ? MAP_RETRY_MS : MAP_REFRESH_MS, () => void refreshMap());
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
