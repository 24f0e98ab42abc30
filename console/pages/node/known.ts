/** What a page knows of its one node, by what the feed told. No browser is needed for it. */
import type { NodeResource } from '../../../actors/resources/node.ts';

/** What is known of it. `deleted`: it was there, and `at` (ISO 8601) it went. */
export type Watched =
  | { readonly kind: 'loading' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'there'; readonly node: NodeResource }
  | { readonly kind: 'deleted'; readonly node: NodeResource; readonly at: string };

/** What is known after the feed told something, or told that the node is not there. Pure. */
export function afterNews(before: Watched, node: NodeResource | undefined, isWhole: boolean, now: string): Watched {
  if (node !== undefined) return before.kind === 'there' && before.node === node ? before : { kind: 'there', node };
  if (!isWhole || before.kind === 'deleted') return before;
  return before.kind === 'there' ? { kind: 'deleted', node: before.node, at: now } : { kind: 'missing' };
}
