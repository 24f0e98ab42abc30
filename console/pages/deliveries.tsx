/** What was sent to all webhooks, and how it went: where the overview leads from those that wait. */
import { useSignal } from '@preact/signals';
import type { PageProps } from '../page-props.ts';
import { useEventTypes } from '../parts/event-types.ts';
import { Heading } from '../parts/heading.tsx';
import { usePolled } from '../poll.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { WEBHOOKS } from '../texts/webhooks.ts';
import { DeliveryList } from './delivery-list.tsx';

const T = WEBHOOKS.one;

/** Webhooks that are told by their URLs, those made last first: the most that a page of the API holds. */
const NAMED_WEBHOOKS_MAX = 100;

/** The page. */
export function DeliveriesPage({ live, search }: PageProps) {
  const round = useSignal(0);
  const types = useEventTypes(live);
  const webhooks = usePolled(() => live.api.list_webhooks.query({ page_size: NAMED_WEBHOOKS_MAX })).value;
  const toWebhooks = <a href={addressOf('webhooks')}>{T.toWebhooks}</a>;
  return (
    <>
      <Heading text={TEXTS.pages.deliveries}>{toWebhooks}</Heading>
      <DeliveryList
        page="deliveries"
        live={live}
        search={search}
        types={types}
        round={round}
        urls={new Map(webhooks.data?.data.map(({ id, url }) => [id, url]))}
        empty={T.emptyOfAll}
        emptyNext={toWebhooks}
      />
    </>
  );
}
