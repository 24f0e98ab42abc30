/** Saved groups as clients see them. */
import { z } from 'zod';
import { ListedTargeting } from '../targeting-schema.ts';
import { NODE_STATUSES } from './node.ts';
import { resource, stored } from './resource.ts';

/** A group. */
export const GroupResource = resource(
  'Group',
  'A targeting with a name. Which nodes are in it is found when it is used.',
  {
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    targeting: ListedTargeting,
    ...stored,
  },
);
export type GroupResource = z.output<typeof GroupResource>;

/** Nodes that a preview names where nothing is said, and at most: what somebody looks through before a command. */
export const PREVIEWED_NODES_DEFAULT = 100;
export const PREVIEWED_NODES_MAX = 5_000;

/** Whom a targeting would reach now. */
export const TargetingPreviewResource = resource('TargetingPreview', 'The nodes that a targeting reaches now.', {
  node_count: z.int().min(0),
  nodes: z
    .array(
      z.object({
        id: z.uuid(),
        name: z.string(),
        cluster_name: z.string(),
        status: z.enum(NODE_STATUSES),
      }),
    )
    .max(PREVIEWED_NODES_MAX)
    .describe('The first of them, by cluster and name.'),
});
export type TargetingPreviewResource = z.output<typeof TargetingPreviewResource>;
