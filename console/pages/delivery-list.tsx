/** Deliveries, of one webhook or of all: how each went, its tries, and sending it once more. */
import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EventType } from '../../actors/events.ts';
import type { DeliveryStatus, WebhookDeliveryResource } from '../../actors/resources/webhook.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import type { Live } from '../live.ts';
import { done } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { addressOf } from '../routes.ts';
import { WEBHOOKS } from '../texts/webhooks.ts';
import { DeliveryDialog } from './delivery-dialog.tsx';

const T = WEBHOOKS.one;

/** What is shown. */
interface DeliveryListProps extends Pick<PageProps, 'live' | 'search'> {
  /** The page that this is. */
  readonly page: 'webhook' | 'deliveries';
  /** The webhook of which they are; left out: of all. */
  readonly id?: string;
  /** Types of events that may be chosen. */
  readonly types: readonly EventType[];
  /** Rises when there may be new ones. */
  readonly round: Signal<number>;
  /** URLs of webhooks, by id: each delivery says its webhook then. */
  readonly urls?: ReadonlyMap<string, string>;
  readonly empty: string;
  readonly emptyNext?: ComponentChildren;
}

/** The list with its filters and its lines. */
export function DeliveryList({ page, live, id, search, types, round, urls, empty, emptyNext }: DeliveryListProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS[page]), [search]);
  const shown = useSignal<string | null>(null);
  const of = id === undefined ? {} : { id };
  const address = (end: string): string => addressOf(page, { ...of, search: end });
  const changed = (): void => {
    round.value += 1;
  };
  const columns = columnsOf(live, changed, (delivery) => (shown.value = delivery));
  return (
    <>
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'status__in', label: T.status, options: Object.entries(T.statuses) },
          { name: 'event_type', label: WEBHOOKS.type, options: types.map((one) => [one, one] as const) },
        ]}
      />
      <ListElsewhere page={page} state={state} {...of} />
      <PagedList
        label={T.deliveries}
        state={state}
        address={address}
        ask={() =>
          live.api.list_webhook_deliveries.query({
            ...LIST_PARAMETERS[page](state),
            ...(id !== undefined && { webhook_id__in: id }),
          })
        }
        idOf={(delivery) => delivery.id}
        columns={urls === undefined ? columns : columns.toSpliced(1, 0, webhookColumn(urls))}
        empty={empty}
        emptyNext={emptyNext}
        round={round.value}
      />
      {shown.value !== null && <DeliveryDialog live={live} id={shown.value} onClose={() => (shown.value = null)} />}
    </>
  );
}

/** Leads to the webhook. One whose URL is not among those that are known is told by its id. */
function webhookColumn(urls: ReadonlyMap<string, string>): ListColumn<WebhookDeliveryResource> {
  return {
    name: 'webhook',
    title: T.columns.webhook,
    cell: ({ webhook_id: id }) => (
      <a href={addressOf('webhook', { id })}>
        <bdi class="url" title={urls.get(id)}>
          {urls.get(id) ?? id}
        </bdi>
      </a>
    ),
  };
}

/** As a status of its own: a shape, a colour and a word. */
const LOOK: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'unhealthy',
  delivered: 'healthy',
  dropped: 'unreachable',
};

function columnsOf(
  live: Live,
  changed: () => void,
  show: (id: string) => void,
): readonly ListColumn<WebhookDeliveryResource>[] {
  const { columns } = T;
  return [
    { name: 'type', title: columns.type, cell: ({ event_type: type }) => type },
    {
      name: 'status',
      title: columns.status,
      sort: 'status',
      cell: ({ status }) => <span class={`status ${LOOK[status]}`}>{T.statuses[status]}</span>,
    },
    { name: 'tries', title: columns.tries, sort: 'attempt_count', isNumber: true, cell: (row) => row.attempt_count },
    { name: 'wide', title: columns.answer, cell: (row) => <Answer row={row} /> },
    {
      name: 'took',
      title: columns.took,
      isNumber: true,
      cell: ({ last_duration_ms: ms }) => (ms === null ? '' : T.ms(ms)),
    },
    { name: 'created', title: columns.created, sort: 'inserted_at', cell: (row) => <Ago at={row.inserted_at} /> },
    {
      name: 'actions',
      title: columns.actions,
      cell: ({ id, event_type: type, status }) => (
        <>
          <button type="button" data-opens aria-label={T.triesOf(type)} onClick={() => show(id)}>
            {T.tries}
          </button>{' '}
          {status !== 'pending' && (
            <button type="button" aria-label={T.againOf(type)} onClick={() => void again(live, id, changed)}>
              {T.again}
            </button>
          )}
        </>
      ),
    },
  ];
}

function Answer({ row: { last_status_code: code, last_error: error } }: { readonly row: WebhookDeliveryResource }) {
  if (code === null && error === null) return null;
  return <bdi>{[code, error].filter((one) => one !== null).join(' · ')}</bdi>;
}

async function again(live: Live, id: string, changed: () => void): Promise<void> {
  if (await done(() => live.api.redeliver_webhook_delivery.mutate({ id }), T.againDone)) changed();
}
