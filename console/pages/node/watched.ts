/** One node as it changes: what `nodes.watch` tells of it. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { refusalOf } from '../../../api/client/client.ts';
import { messageOf } from '../../failure.ts';
import type { NodesMessage } from '../../../api/feeds/nodes-messages.ts';
import type { Fleet } from '../../fleet/feed.ts';
import { NodeRows } from '../../fleet/rows.ts';
import type { Live } from '../../live.ts';
import { subscribeWhileSeen } from '../../seen.ts';
import { afterNews, type Watched } from './known.ts';

/** Follows it as long as its component is there. What the fleet knows of it is shown until the feed has told. */
export function useNode({ live, fleet }: { readonly live: Live; readonly fleet: Fleet }, id: string): Signal<Watched> {
  const known = fleet.rows.get(id);
  const watched = useSignal<Watched>(known === undefined ? { kind: 'loading' } : { kind: 'there', node: known });
  useEffect(() => {
    const rows = new NodeRows();
    const subscription = subscribeWhileSeen<NodesMessage>(
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
              : { kind: 'failed', message: messageOf(error) };
        },
      },
    );
    return () => subscription.unsubscribe();
  }, [id, live]);
  return watched;
}
