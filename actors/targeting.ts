/** Which nodes a command or a self-update reaches. The filter is evaluated once, in one snapshot (C2). */
import type { ClusterId, NodeId } from '../transport/protocol/ids.ts';

/** As the client gave it, with duplicates removed. Filters hold parameter names as keys, as in lists. */
export interface Targeting {
  readonly type: 'all' | 'nodes' | 'clusters';
  readonly node_ids?: readonly string[] | undefined;
  readonly cluster_names?: readonly string[] | undefined;
  readonly cluster_filters?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly node_filters?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** A node that a targeting reached, with the cluster it was in at that instant. */
export interface Target {
  readonly node: NodeId;
  readonly cluster: ClusterId;
  readonly clusterName: string;
}
