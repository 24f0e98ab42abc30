/** Where events are sent. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { EventType } from '../../actors/events.ts';
import type { WebhookResource } from '../../actors/resources/webhook.ts';
import { anywhere, listParametersOf, listStateOf, type ListState } from '../lists/query.ts';
import { curlOfList } from '../lists/terminal.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { WEBHOOKS as T } from '../texts/webhooks.ts';
import { CreateWebhook } from './create-webhook.tsx';

const FILTERS = ['url', 'event_type'] as const;
type Filter = (typeof FILTERS)[number];

/** All types: there are fewer. */
const TYPES_MAX = 100;

const address = (search: string): string => addressOf('webhooks', { search });

/** The list. */
export function WebhooksPage({ live, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, FILTERS), [search]);
  const isCreating = useSignal(false);
  const round = useSignal(0);
  const changed = (): void => {
    round.value += 1;
  };
  const types = usePolled(async () => {
    const { data } = await live.api.list_event_types.query({ page_size: TYPES_MAX });
    return data.map(({ type }) => type);
  });
  const parameters = parametersOf(state);
  return (
    <>
      <Heading text={TEXTS.pages.webhooks}>
        <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
          {T.create}
        </button>
      </Heading>
      <p class="lead">{T.lead}</p>
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'url', label: T.url, hint: T.urlHint },
          { name: 'event_type', label: T.type, options: (types.value.data ?? []).map((type) => [type, type] as const) },
        ]}
      />
      <Elsewhere cli="edge webhook ls" curl={curlOfList(location.origin, '/webhooks', parameters)} />
      <PagedList
        label={TEXTS.pages.webhooks}
        state={state}
        address={address}
        ask={() => live.api.list_webhooks.query(parameters)}
        idOf={({ id }) => id}
        detail={({ id }) => addressOf('webhook', { id })}
        columns={columnsOf(live, changed)}
        empty={T.empty}
        round={round.value}
      />
      {isCreating.value && (
        <CreateWebhook
          live={live}
          types={types.value.data ?? []}
          onMade={changed}
          onClose={() => (isCreating.value = false)}
        />
      )}
    </>
  );
}

/** What an address names wrongly is the service's to refuse. */
function parametersOf(state: ListState<Filter>) {
  const { url, event_type: type, ...others } = listParametersOf(state);
  return {
    ...others,
    ...(url !== undefined && { url: anywhere(url) }),
    ...(type !== undefined && { event_type: type as EventType }),
  };
}

function columnsOf(live: Live, changed: () => void): readonly ListColumn<WebhookResource>[] {
  const { columns } = T;
  return [
    { name: 'wide', title: columns.url, sort: 'url', cell: ({ url }) => <bdi class="url">{url}</bdi> },
    {
      name: 'types',
      title: columns.types,
      cell: ({ subscribed_events: types }) => <span title={types.join('\n')}>{T.types(types.length)}</span>,
    },
    { name: 'created', title: columns.created, sort: 'inserted_at', cell: (row) => <Ago at={row.inserted_at} /> },
    {
      name: 'actions',
      title: columns.actions,
      cell: ({ id, url }) => (
        <button type="button" aria-label={T.removeOf(url)} onClick={() => void removeWebhook(live, id, url, changed)}>
          {T.remove}
        </button>
      ),
    },
  ];
}

/** Asks, and deletes it. */
export async function removeWebhook(live: Live, id: string, url: string, changed: () => void): Promise<void> {
  const isDone = await doneIfConfirmed(
    { title: T.removeTitle, text: T.removeText, items: [url], action: T.remove },
    () => live.api.delete_webhook.mutate({ id }),
    T.removed,
  );
  if (isDone) changed();
}
