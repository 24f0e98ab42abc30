/** One webhook: what it wants, and what became of what was sent there. */
import { useSignal } from '@preact/signals';
import type { WebhookResource } from '../../actors/resources/webhook.ts';
import { done } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { Heading } from '../parts/heading.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { useLead } from '../parts/there.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { WEBHOOKS } from '../texts/webhooks.ts';
import { DeliveryList } from './delivery-list.tsx';
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
      <DeliveryList
        page="webhook"
        live={live}
        id={id}
        search={search}
        types={data?.subscribed_events ?? []}
        round={round}
        empty={T.empty}
      />
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
