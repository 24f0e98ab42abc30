/** One webhook: what it wants, and what became of what was sent there. */
import { useSignal, type Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { EventType } from '../../actors/events.ts';
import type { DeliveryStatus, WebhookDeliveryResource, WebhookResource } from '../../actors/resources/webhook.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import type { Live } from '../live.ts';
import { done } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { useLead } from '../parts/there.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { WEBHOOKS } from '../texts/webhooks.ts';
import { DeliveryDialog } from './delivery-dialog.tsx';
import { removeWebhook } from './webhooks.tsx';

const T = WEBHOOKS.one;

/** The page. */
export function WebhookPage({ live, id, search }: PageProps) {
  const lead = useLead();
  const polled = usePolled(() => live.api.get_webhook.query({ id }), id);
  const round = useSignal(0);
  const { data, failure } = polled.value;
  const test = async (): Promise<void> => {
    const isWanted = data?.subscribed_events.includes('edge.core.test') === true;
    await done(() => live.api.publish_test_event.mutate({}), isWanted ? T.tested : `${T.tested} ${T.notTested}`);
    round.value += 1;
  };
  return (
    <>
      <Heading text={TEXTS.pages.webhook}>
        <button type="button" onClick={() => void test()}>
          {T.test}
        </button>
        {data !== null && (
          <button
            type="button"
            class="danger"
            onClick={() => void removeWebhook(live, id, data.url, () => lead(addressOf('webhooks')))}
          >
            {WEBHOOKS.remove}
          </button>
        )}
      </Heading>
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && <Facts webhook={data} />}
      <h2>{T.deliveries}</h2>
      <Deliveries live={live} id={id} search={search} types={data?.subscribed_events ?? []} round={round} />
    </>
  );
}

function Facts({ webhook }: { readonly webhook: WebhookResource }) {
  return (
    <dl class="facts">
      <dt>{WEBHOOKS.url}</dt>
      <dd>
        <bdi>{webhook.url}</bdi>
      </dd>
      <dt>{T.types}</dt>
      <dd>
        {webhook.subscribed_events.map((type) => (
          <code key={type}>{type}</code>
        ))}
      </dd>
      <dt>{T.created}</dt>
      <dd>
        <Ago at={webhook.inserted_at} />
      </dd>
    </dl>
  );
}

interface DeliveriesProps extends Pick<PageProps, 'live' | 'id' | 'search'> {
  readonly types: readonly EventType[];
  /** Rises when there may be new ones. */
  readonly round: Signal<number>;
}

function Deliveries({ live, id, search, types, round }: DeliveriesProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS.webhook), [search]);
  const shown = useSignal<string | null>(null);
  const address = (end: string): string => addressOf('webhook', { id, search: end });
  const changed = (): void => {
    round.value += 1;
  };
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
      <ListElsewhere page="webhook" state={state} id={id} />
      <PagedList
        label={T.deliveries}
        state={state}
        address={address}
        ask={() => live.api.list_webhook_deliveries.query({ ...LIST_PARAMETERS.webhook(state), webhook_id__in: id })}
        idOf={(delivery) => delivery.id}
        columns={columnsOf(live, changed, (delivery) => (shown.value = delivery))}
        empty={T.empty}
        round={round.value}
      />
      {shown.value !== null && <DeliveryDialog live={live} id={shown.value} onClose={() => (shown.value = null)} />}
    </>
  );
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
          <button type="button" aria-label={T.triesOf(type)} onClick={() => show(id)}>
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
