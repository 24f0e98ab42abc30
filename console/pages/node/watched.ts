/** One node as it changes: what `nodes.watch` tells of it. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { refusalOf, subscribePatiently } from '../../../api/client/client.ts';
import type { NodesMessage } from '../../../api/feeds/nodes.ts';
import type { Fleet } from '../../fleet/feed.ts';
import { NodeRows } from '../../fleet/rows.ts';
import type { Live } from '../../live.ts';

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

/** Follows it as long as its component is there. What the fleet knows of it is shown until the feed has told. */
export function useNode({ live, fleet }: { readonly live: Live; readonly fleet: Fleet }, id: string): Signal<Watched> {
  const known = fleet.rows.get(id);
  const watched = useSignal<Watched>(known === undefined ? { kind: 'loading' } : { kind: 'there', node: known });
  useEffect(() => {
    const rows = new NodeRows();
    const subscription = subscribePatiently<NodesMessage>(
      (handlers, lastEventId) => live.api.nodes.watch.subscribe({ node_id__in: [id], lastEventId }, handlers),
      {
        data: (message) => {
          rows.apply(message);
          watched.value = afterNews(watched.value, rows.get(id), rows.isWhole, new Date().toISOString());
        },
        failed: (error) => {
          const refusal = refusalOf(error);
          // an id that is none is an address that leads nowhere
          watched.value =
            refusal?.code === 'bad_request' || refusal?.code === 'validation_failed'
              ? { kind: 'missing' }
              : { kind: 'failed', message: refusal?.message ?? String(error) };
        },
      },
    );
    return () => subscription.unsubscribe();
  }, [id, live]);
  return watched;
}
