/** What `nodes.watch` says. */
import type { NodeResource } from '../../actors/resources/node.ts';
import type { Changes, Patch } from './change-log.ts';
import type { SnapshotPlace } from './snapshot.ts';

/**
 * A snapshot comes as pages 1 to `pages`: page 1 replaces everything known, and the feed is consistent once what
 * follows the last page is known too.
 * Changes are merged by id: a patch holds the fields that changed, and all of them where the node is new. `total` is
 * how many there were when the snapshot began: of those that went meanwhile its pages have nothing.
 */
export type NodesMessage =
  | {
      readonly type: 'snapshot';
      readonly page: number;
      readonly pages: number;
      readonly total: number;
      readonly nodes: readonly NodeResource[];
    }
  | { readonly type: 'changed'; readonly nodes: readonly Patch<NodeResource>[]; readonly removed: readonly string[] };

/** How a feed of nodes says what it has and what changed. */
export const NODES_WORDING = {
  page: (nodes: readonly NodeResource[], place: SnapshotPlace): NodesMessage => ({ type: 'snapshot', ...place, nodes }),
  changed: ({ patches, removed }: Changes<NodeResource>): NodesMessage => ({
    type: 'changed',
    nodes: patches,
    removed,
  }),
};
