/** Where events are sent. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { WebhookResource } from '../../actors/resources/webhook.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import { TROUBLES } from '../lists/webhook-trouble.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { useEventTypes } from '../parts/event-types.ts';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { WEBHOOKS as T } from '../texts/webhooks.ts';
import { CreateWebhook } from './create-webhook.tsx';

const address = (search: string): string => addressOf('webhooks', { search });

/** The list. */
export function WebhooksPage({ live, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS.webhooks), [search]);
  const isCreating = useSignal(false);
  const round = useSignal(0);
  const changed = (): void => {
    round.value += 1;
  };
  const types = useEventTypes(live);
  return (
    <>
      <Heading text={TEXTS.pages.webhooks}>
        <a href={addressOf('deliveries')}>{T.allDeliveries}</a>
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
          { name: 'event_type', label: T.type, options: types.map((type) => [type, type] as const) },
          { name: 'trouble', label: T.trouble, options: TROUBLES.map((one) => [one, T.troubles[one]] as const) },
        ]}
      />
      <ListElsewhere page="webhooks" state={state} />
      <PagedList
        label={TEXTS.pages.webhooks}
        state={state}
        address={address}
        ask={() => live.api.list_webhooks.query(LIST_PARAMETERS.webhooks(state))}
        idOf={({ id }) => id}
        detail={({ id }) => addressOf('webhook', { id })}
        columns={columnsOf(live, changed)}
        empty={T.empty}
        round={round.value}
      />
      {isCreating.value && (
        <CreateWebhook live={live} types={types} onMade={changed} onClose={() => (isCreating.value = false)} />
      )}
    </>
  );
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

/** Asks, and deletes it. The host of its URL stands for its name: it has none. */
export async function removeWebhook(live: Live, id: string, url: string, changed: () => void): Promise<void> {
  const isDone = await doneIfConfirmed(
    { title: T.removeTitle, text: T.removeText, items: [url], name: new URL(url).host, action: T.remove },
    () => live.api.delete_webhook.mutate({ id }),
    T.removed,
  );
  if (isDone) changed();
}
