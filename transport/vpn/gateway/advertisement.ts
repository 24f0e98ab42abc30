/** Tells the members of VPNs where the gateway is, by the rows: what these say is compared with what is. */
import type { GatewayVpn } from '../../../actors/vpn/effects.ts';
import type { Log } from '../../net/log.ts';
import type { VpnGatewayRecord } from '../../../actors/records.ts';
import type { ClusterId } from '../../protocol/ids.ts';

/** Where the gateway of a cluster is. Null: nowhere, this admin has none. */
export type GatewayPlace = Omit<VpnGatewayRecord, 'ipv4' | 'ipv6'> | null;

/** What is needed to store it. */
export interface AdvertisementPorts {
  readonly log: Log;
  readonly monotonicMs: () => number;
  /** False: the cluster is not owned under this epoch any more. Rejects when the database is away. */
  store(cluster: ClusterId, epoch: number, place: GatewayPlace): Promise<boolean>;
}

/** What one admin says of its gateway. */
export interface Advertisement {
  /** Returns at once; what fails is done again with the next call. */
  say(vpn: GatewayVpn, epoch: number, place: GatewayPlace): void;
  forget(cluster: ClusterId): void;
}

/** Statements at once. */
const STORED_AT_ONCE_MAX = 4;

/**
 * Rows that still say something else after this, in ms, are written again: what is stored comes back as news of the
 * VPN.
 */
const BELIEVED_MS = 15_000;

/** Nothing was said at first. */
export function createAdvertisement(ports: AdvertisementPorts): Advertisement {
  const { monotonicMs, log } = ports;
  /** What was stored last, under which epoch, and when. */
  const said = new Map<ClusterId, { readonly epoch: number; readonly place: string; readonly atMs: number }>();
  const storing = new Set<ClusterId>();

  async function tell(cluster: ClusterId, epoch: number, place: GatewayPlace): Promise<void> {
    storing.add(cluster);
    try {
      if (await ports.store(cluster, epoch, place))
        said.set(cluster, { epoch, place: JSON.stringify(place), atMs: monotonicMs() });
    } catch (error) {
      log.debug({ error, cluster }, 'the members of a cluster are not told where its gateway is: trying again');
    } finally {
      storing.delete(cluster);
    }
  }

  return {
    say({ cluster, peers }, epoch, place) {
      if (storing.has(cluster) || storing.size >= STORED_AT_ONCE_MAX) return;
      const last = said.get(cluster);
      const isSaid = last?.epoch === epoch && last.place === JSON.stringify(place);
      if (isSaid && monotonicMs() - last.atMs < BELIEVED_MS) return;
      const known = [...peers.values()].find(({ node }) => node === null);
      const isKnown =
        place === null
          ? known === undefined && (last === undefined || last.place === 'null') // or its rows are about to come
          : isSaid &&
            known?.public_key === place.publicKey &&
            known.relay_region === place.relayRegion &&
            JSON.stringify(known.endpoints) === JSON.stringify(place.endpoints);
      if (!isKnown) void tell(cluster, epoch, place);
    },
    forget: (cluster) => {
      said.delete(cluster);
    },
  };
}
