/** Events of a node, page by page: which are shown, and the way to those before and after them. */
import { useSignal, type Signal } from '@preact/signals';
import type { EventType } from '../../../actors/events.ts';
import type { Live } from '../../live.ts';
import type { Pagination } from '../../lists/query.ts';
import { usePolled } from '../../poll.ts';
import { TEXTS } from '../../texts.ts';
import { COUNTED_MAX, rowsOf } from './happened.ts';

const T = TEXTS.lists;

/** Which events. */
interface Wanted {
  /** Id of the node. */
  readonly node: string;
  readonly types: readonly EventType[];
  readonly pageSize: number;
  /** Asked anew at once whenever it changes. */
  readonly key?: string;
}

/** Those of one page, the latest first, and which page that is. */
export function useNodeEvents(live: Live, { node, types, pageSize, key = '' }: Wanted) {
  const page = useSignal(1);
  const polled = usePolled(
    () =>
      live.api.list_node_events.query({
        node_id: node,
        type__in: types,
        page: page.value,
        page_size: pageSize,
        counted_max: COUNTED_MAX,
      }),
    `${page.value} ${key}`,
  );
  return { page, polled: polled.value };
}

/** Nothing where all of them are shown. `label`: what they are. */
export function EventPages({
  label,
  page,
  pagination,
}: {
  readonly label: string;
  readonly page: Signal<number>;
  readonly pagination: Pagination;
}) {
  const { page: shown, total_pages: pages } = pagination;
  if (pages <= 1 && shown === 1) return null;
  return (
    <nav class="pages" aria-label={T.pagesOf(label)}>
      <span class="soft">{rowsOf(pagination)}</span>
      {shown > 1 && (
        <button type="button" onClick={() => (page.value = shown - 1)}>
          {T.previous}
        </button>
      )}
      {shown < pages && (
        <button type="button" onClick={() => (page.value = shown + 1)}>
          {T.next}
        </button>
      )}
    </nav>
  );
}
