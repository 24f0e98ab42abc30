/**
 * What a targeting may say of the nodes that a command or a self-update is for. Which ones these are is found once, in
 * one snapshot (C2): persistence/reads/targeted-nodes.ts.
 */
import { z } from 'zod';
import type { ClusterId, NodeId } from '../transport/protocol/ids.ts';
import type { Given } from './resources/resource.ts';

const FilterValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]));

/** As the client gave it, with duplicates removed. Filters hold parameter names as keys, as in lists. */
export const Targeting = z.object({
  type: z.enum(['all', 'nodes', 'clusters', 'group']),
  node_ids: z.array(z.uuid()).optional(),
  cluster_names: z.array(z.string()).optional(),
  group: z.string().optional().describe('Name of a saved group.'),
  labels: z.string().optional().describe('A selector of labels: of the nodes above, those that it matches.'),
  cluster_filters: FilterValues.optional(),
  node_filters: FilterValues.optional(),
});
export type Targeting = Given<typeof Targeting>;

/**
 * The same in a resource. One that is withheld is taken by no operation: it would reach more nodes than it did (C2).
 */
export const ListedTargeting = Targeting.extend({
  withheld: z
    .literal(true)
    .optional()
    .describe('A page of a list has no room for it, and tells only its type: get this one by itself.'),
});
export type ListedTargeting = Given<typeof ListedTargeting>;

/** A targeting that names no group: what a group itself holds. */
export type PlainTargeting = Targeting & { readonly type: Exclude<Targeting['type'], 'group'> };

/** Whether it names no group. */
export function isPlain(targeting: Targeting): targeting is PlainTargeting {
  return targeting.type !== 'group';
}

/** A node that a targeting reached, with the cluster it was in at that instant. */
export interface Target {
  readonly node: NodeId;
  readonly cluster: ClusterId;
  readonly clusterName: string;
}
