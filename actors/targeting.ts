/** Which nodes a command or a self-update reaches. The filter is evaluated once, in one snapshot (C2). */
import { z } from 'zod';
import type { ClusterId, NodeId } from '../transport/protocol/ids.ts';
import type { Given } from './resources/resource.ts';

const FilterValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** As the client gave it, with duplicates removed. Filters hold parameter names as keys, as in lists. */
export const Targeting = z.object({
  type: z.enum(['all', 'nodes', 'clusters']),
  node_ids: z.array(z.uuid()).optional(),
  cluster_names: z.array(z.string()).optional(),
  cluster_filters: FilterValues.optional(),
  node_filters: FilterValues.optional(),
});
export type Targeting = Given<typeof Targeting>;

/** A node that a targeting reached, with the cluster it was in at that instant. */
export interface Target {
  readonly node: NodeId;
  readonly cluster: ClusterId;
  readonly clusterName: string;
}
