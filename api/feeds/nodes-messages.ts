/** What `nodes.watch` says. */
import type { NodeResource } from '../../actors/resources/node.ts';
import type { Patch } from './change-log.ts';
import { SNAPSHOT_PAGE_ROWS } from './limits.ts';
import { paged } from './paged.ts';

/**
 * A snapshot comes as pages 1 to `pages`: page 1 replaces everything known, and the feed is consistent with the last
 * page.
 * Changes are merged by id: a patch holds the fields that changed, and all of them where the node is new.
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
  snapshot: (nodes: readonly NodeResource[]): readonly NodesMessage[] =>
    paged(nodes, SNAPSHOT_PAGE_ROWS).map((page, index, all) => ({
      type: 'snapshot',
      page: index + 1,
      pages: all.length,
      total: nodes.length,
      nodes: page,
    })),
  changed: ({
    patches,
    removed,
  }: {
    readonly patches: readonly Patch<NodeResource>[];
    readonly removed: readonly string[];
  }): NodesMessage => ({ type: 'changed', nodes: patches, removed }),
};
