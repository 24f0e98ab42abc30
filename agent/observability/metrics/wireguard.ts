/**
 * Metrics of this machine's WireGuard interfaces, under the names of the common exporter, without addresses of the VPN
 * (R3).
 */
import { join } from 'node:path';
import { Exposition, renderLabels } from '../../../transport/net/exposition/exposition.ts';
import type { VpnPath } from '../../../transport/protocol/vpn.ts';
import { failedReading, WIREGUARD_LIMITS } from './wireguard/device.ts';
import type { DeviceReading, WireguardLimits, WireguardPeer } from './wireguard/device.ts';
import { kernelInterfaces, namesIn, readKernel } from './wireguard/kernel.ts';
import { readUserSpace } from './wireguard/user-space.ts';

/** What is read, and how peers are called. */
export interface WireguardSources {
  /** Sockets of interfaces in user space. */
  readonly sockets: string;
  /** All network interfaces of the machine. */
  readonly interfaces: string;
  /** The program that asks the kernel. */
  readonly wg: string;
  /** Peers of the VPN now, by public key (base64). Asked once a scrape, as it looks at all of them. */
  readonly peers: () => ReadonlyMap<string, NamedPeer>;
  readonly limits?: Partial<WireguardLimits>;
}

/** What the VPN knows of a peer. */
export interface NamedPeer {
  /** The node that has its key, or `gateway`; null: a stranger. */
  readonly node: string | null;
  /** How packets go to it; null: it is no peer of the interface yet. */
  readonly path: VpnPath | null;
  /** How long packets to it may be, in bytes; null: as long as the VPN says. */
  readonly mtu: number | null;
}

/** As on every Linux machine that is in no VPN: nobody has a name. */
export const MACHINE_WIREGUARD: WireguardSources = {
  sockets: '/var/run/wireguard',
  interfaces: '/sys/class/net',
  wg: 'wg',
  peers: () => new Map(),
};

const STRANGER: NamedPeer = { node: null, path: null, mtu: null };

/** What an interface may be called: it becomes a path and a word of a command. Source: wg(8), as the kernel has it. */
const INTERFACE_NAME = /^[\w=+.-]{1,15}$/u;

const SOCKET_ENDING = '.sock';

/** What was found. `isComplete`: there is no place that could not be looked at. */
export interface WireguardDevices {
  readonly devices: readonly WireguardDevice[];
  readonly isComplete: boolean;
}

/** An interface, and what was read of it. */
export interface WireguardDevice {
  readonly name: string;
  readonly reading: Exclude<DeviceReading, { kind: 'gone' }>;
}

/**
 * The metrics of WireGuard as text. Never rejects: an interface that cannot be read is down, and has no other metrics.
 */
export async function wireguardMetrics(sources: WireguardSources): Promise<string> {
  const { devices, isComplete } = await readDevices(sources);
  const exposition = new Exposition().single(
    'wireguard_interfaces',
    'gauge',
    'WireGuard interfaces of this machine; absent where the agent may not look for them.',
    isComplete ? devices.length : null,
  );
  exposition.family('wireguard_interface_up', 'gauge', 'Whether the interface could be read.');
  for (const { name, reading } of devices)
    exposition.sample('wireguard_interface_up', reading.kind === 'read' ? 1 : 0, { interface: name });
  const named = sources.peers();
  const peers = devices.flatMap(({ name, reading }) =>
    reading.kind === 'read' ? reading.peers.map((peer) => ({ ...peer, ...labelsOf(name, peer, named) })) : [],
  );
  const family = (
    metric: string,
    type: 'counter' | 'gauge',
    help: string,
    value: (peer: WireguardPeer) => number,
  ): void => {
    exposition.family(metric, type, help);
    for (const peer of peers) exposition.sample(metric, value(peer), peer.labels);
  };
  family('wireguard_sent_bytes_total', 'counter', 'Bytes sent to the peer.', (peer) => peer.sentBytes);
  family('wireguard_received_bytes_total', 'counter', 'Bytes received from the peer.', (peer) => peer.receivedBytes);
  family(
    'wireguard_latest_handshake_seconds',
    'gauge',
    'Unix time of the last handshake with the peer, in seconds; 0 for never.',
    (peer) => peer.handshakeSeconds,
  );
  exposition.family('wireguard_peer_path', 'gauge', 'How packets go to a peer of the VPN; always 1.');
  for (const peer of peers) if (peer.pathLabels !== null) exposition.sample('wireguard_peer_path', 1, peer.pathLabels);
  exposition.family(
    'wireguard_peer_mtu_bytes',
    'gauge',
    'How long packets to a peer of the VPN may be; absent where that is what every path takes.',
  );
  for (const { mtu, labels } of peers) if (mtu !== null) exposition.sample('wireguard_peer_mtu_bytes', mtu, labels);
  return exposition.toString();
}

/** Reads all interfaces of this machine. Never rejects. */
export async function readDevices({
  sockets,
  interfaces,
  wg,
  limits: given,
}: Omit<WireguardSources, 'peers'>): Promise<WireguardDevices> {
  const limits = { ...WIREGUARD_LIMITS, ...given };
  const inKernel = kernelInterfaces(interfaces, limits.lookedAtMax).filter((name) => INTERFACE_NAME.test(name));
  const files = namesIn(sockets);
  const inUserSpace = (files ?? [])
    .filter((file) => file.endsWith(SOCKET_ENDING))
    .map((file) => file.slice(0, -SOCKET_ENDING.length))
    .filter((name) => INTERFACE_NAME.test(name) && !inKernel.includes(name));
  const read = await Promise.all(
    [
      ...inKernel.map((name) => ({ name, read: () => readKernel(name, wg, limits) })),
      ...inUserSpace.map((name) => ({ name, read: () => readUserSpace(join(sockets, name + SOCKET_ENDING), limits) })),
    ]
      .slice(0, limits.interfacesMax)
      .map(async ({ name, read: readOne }) => ({ name, reading: await readOne() })),
  );
  let room = limits.peersMax;
  const devices = read
    .filter((device): device is WireguardDevice => device.reading.kind !== 'gone')
    .map((device) => {
      const peers = device.reading.kind === 'read' ? device.reading.peers.length : 0;
      if (peers > room) return { name: device.name, reading: failedReading('there are too many peers') };
      room -= peers;
      return device;
    });
  return { devices, isComplete: files !== null };
}

function labelsOf(
  device: string,
  { publicKey }: WireguardPeer,
  named: ReadonlyMap<string, NamedPeer>,
): { readonly labels: string; readonly pathLabels: string | null; readonly mtu: number | null } {
  const { node, path, mtu } = named.get(publicKey) ?? STRANGER;
  const labels = { interface: device, public_key: publicKey, friendly_name: node ?? '' };
  return { labels: renderLabels(labels), pathLabels: path === null ? null : renderLabels({ ...labels, path }), mtu };
}
