/**
 * This machine in the VPN of its cluster, put together: its membership, the names of the others, and what is left
 * of both when it goes. Which way packets take to a peer is chosen in transport/vpn/member/path-transition.ts.
 */
import { existsSync } from 'node:fs';
import { MapSource, followMap } from '../../transport/vpn/relay-map/map-source.ts';
import { createVet } from '../../transport/net/outbound-guard/vetting.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { createMember } from '../../transport/vpn/member/create-member.ts';
import { removeDevice } from '../../transport/vpn/wireguard/open.ts';
import type { AgentConfig } from '../config.ts';
import type { DataDirectory } from '../data-directory.ts';
import type { Service } from '../observability/health.ts';
import type { NamedPeer } from '../observability/metrics/wireguard.ts';
import { interfaceNameOf } from './interface-names.ts';
import { createNames, removeNames } from './names/names.ts';
import type { AgentVpnFrameBody, SessionClock, SessionVpn } from '../session/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { VpnWay } from '../access/tunnel/ways.ts';
import { Membership } from './membership.ts';
import { createNetclient, leaveNetmaker } from './netclient.ts';
import { ROTATION_SIGNAL } from './rotation.ts';

/** What it is made of. */
export interface AgentVpnOptions {
  readonly config: AgentConfig;
  readonly directory: DataDirectory;
  readonly node: NodeId;
  /** Of the cluster that the node is in, as the admin said last. */
  readonly clusterName: () => string;
  readonly adminUrls: () => readonly string[];
  readonly clock: SessionClock;
  readonly log: Log;
  /** Over the session. False: no admin hears it now. */
  readonly say: (message: AgentVpnFrameBody) => boolean;
}

/** What runs of it. */
export interface AgentVpn {
  readonly session: SessionVpn;
  readonly services: readonly Service[];
  /** Settings came, with a welcome or between, from the admin at this URL. */
  configured(settings: AgentSettings, adminUrl: string): void;
  /** By public key. */
  peers(): ReadonlyMap<string, NamedPeer>;
  /** How the admin that owns the cluster is reached through the VPN; null: not at all, or not now. */
  wayToGateway(): VpnWay | null;
  /** `isKept`: the interface stays for the next start, with its traffic. Names go either way. */
  close(end: { readonly isKept: boolean }): Promise<void>;
}

/** Never throws: what this machine cannot do is said once, in the log and in its health. */
export function openVpn({
  config,
  directory,
  node,
  clusterName,
  adminUrls,
  clock,
  log,
  say,
}: AgentVpnOptions): AgentVpn {
  const interfaceName = interfaceNameOf(node);
  const names = createNames({
    mode: config.VPN_DNS,
    mayUseResolvConf: config.VPN_DNS_RESOLV_CONF,
    node,
    interfaceName,
    log,
  });
  const membership = new Membership({
    interfaceName,
    port: config.VPN_PORT,
    hasMtuDiscovery: config.VPN_PATH_MTU_DISCOVERY,
    keysPath: directory.vpnKeys,
    networkMapPath: directory.vpnNetworkMap,
    clusterName,
    clock,
    log,
    say,
    createMember,
    named: (map) => (map === null ? names.clear() : names.update(map.network, map.peers.values())),
  });
  const netclient = createNetclient({ node, directory: directory.path, clock, log });
  const relayMap = followMap(
    new MapSource({ vet: createVet({ allowPrivate: false }), trusted: adminUrls }, directory.relayMap),
    (map) => membership.mapped(map),
  );
  const rotate = (): void => membership.rotate();
  process.on(ROTATION_SIGNAL, rotate);
  return {
    session: {
      told: (order) => (order.type === 'netmaker-join' ? netclient.told(order) : membership.session.told(order)),
    },
    services: [
      { ...membership.service, note: () => membership.service.note?.() ?? netclient.note() },
      { name: 'names', problem: () => names.problem(), note: () => names.note() },
    ],
    configured(settings, adminUrl) {
      membership.configured(settings.mesh, adminUrl);
      relayMap.refresh(settings.derp_map_urls);
    },
    peers: () => membership.peers(),
    wayToGateway: () => membership.wayToGateway(),
    async close(end) {
      process.off(ROTATION_SIGNAL, rotate);
      await Promise.all([membership.close(end), names.close(), netclient.close()]);
    },
  };
}

/**
 * Removes what an agent of this node left: the interface, and names. `clusterName` is that of its cluster; null: it is
 * in none that is known. Never rejects; what cannot be removed is a warning.
 */
export async function leaveVpn(
  directory: DataDirectory,
  node: NodeId,
  clusterName: string | null,
  log: Log,
): Promise<void> {
  await leaveNetmaker(directory.path, clusterName, log);
  if (!existsSync(directory.vpnKeys)) return; // it never was in a VPN
  const interfaceName = interfaceNameOf(node);
  await removeNames({ node, interfaceName, log });
  await removeDevice(interfaceName).catch((error: unknown) =>
    log.warn({ problem: (error as Error).message }, 'The network interface of this machine could not be removed'),
  );
}
