/**
 * What the gateway is without, said in the log once and in its health for as long as it is so: clusters that do not
 * fit, and peers and addresses that no interface takes.
 */
import type { Log } from '../../net/log.ts';
import { leftOutNote } from '../../protocol/vpn.ts';
import type { MemberRefusals } from '../member/member.ts';
import type { CheckedVpn, MergedVpns } from './merged-vpns.ts';

/** Clusters that are named; the rest is counted. */
const CLUSTERS_NAMED_MAX = 8;

/** What is left out now. */
export interface LeftOut {
  /** Compares it with what was said last. */
  say(merged: MergedVpns, vpns: Iterable<CheckedVpn>, refused: MemberRefusals): void;
  /** One sentence without addresses; null: nothing is. */
  note(): string | null;
}

/** Nothing was said at first. */
export function createLeftOut(log: Log): LeftOut {
  let crowded: string | null = null;
  let refusing: string | null = null;
  let damaged: string | null = null;

  return {
    say(merged, vpns, refused) {
      const clusters = merged.leftOut.map(({ clusterName }) => clusterName).toSorted();
      const nextCrowded = clusters.length === 0 ? null : `there is no room for the VPNs of ${named(clusters)}`;
      if (nextCrowded !== crowded && nextCrowded !== null) {
        log.warn(
          { clusters: clusters.slice(0, CLUSTERS_NAMED_MAX), left_out: clusters.length },
          'clusters have more members than ADMIN_MAX_WIREGUARD_PEERS, or are more than one interface leaves room for: their VPNs are not joined, and their nodes are reached by tunnels beside the VPN',
        );
      }
      crowded = nextCrowded;

      const addresses = new Set([...refused.addresses, ...refused.taken]);
      const without =
        addresses.size === 0
          ? []
          : [...merged.joined.values()]
              .filter((checked) => checked.addresses.cidrs.some((cidr) => addresses.has(cidr)))
              .map(({ vpn }) => vpn.clusterName)
              .toSorted();
      const nextRefusing =
        without.length === 0 ? null : `the interface does not take the addresses of ${named(without)}`;
      if (nextRefusing !== refusing && nextRefusing !== null)
        log.warn(
          { clusters: without.slice(0, CLUSTERS_NAMED_MAX), left_out: without.length },
          'the interface of this admin does not take its addresses in the VPNs of some clusters: all others are joined',
        );
      refusing = nextRefusing;

      // Damaged rows are told of in the log by the actors of their clusters.
      const nextDamaged = leftOutNote([...[...vpns].flatMap(({ vpn }) => vpn.leftOut), ...refused.peers]);
      if (nextDamaged !== damaged && refused.peers.length > 0)
        log.warn(
          { problem: leftOutNote(refused.peers) },
          'the interface of this admin does not take some members of its VPNs: all others are reached',
        );
      damaged = nextDamaged;
    },
    note() {
      const notes = [crowded, refusing, damaged].filter((note) => note !== null);
      return notes.length === 0 ? null : notes.join('; ');
    },
  };
}

function named(clusters: readonly string[]): string {
  const more = clusters.length - CLUSTERS_NAMED_MAX;
  return `${clusters.slice(0, CLUSTERS_NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more clusters` : ''}`;
}
