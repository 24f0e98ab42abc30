/** What a cluster's actor holds. `record` is null only before its creation is stored. */
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { ClusterVpn } from './vpn-state.ts';
import type { ClusterRecord } from '../records.ts';

/** The state of one cluster. Its nodes are actors of their own; only their number is known here. */
export interface ClusterState {
  readonly id: ClusterId;
  readonly record: ClusterRecord | null;
  readonly vpn: ClusterVpn;
}
