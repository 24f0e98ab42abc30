/** Brokers, relays and webhooks in trouble, at whichever admin, each with the way to its page. */
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import type { WebhookDeliveryResource, WebhookResource } from '../../../actors/resources/webhook.ts';
import { troubleFilters, type Trouble } from '../../lists/webhook-trouble.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { TROUBLES_TEXTS as T } from '../../texts/troubles.ts';

/** Admins of one answer: as many as a page of a list has at most, and more than ever share a database. */
const ADMINS_MAX = 100;

/** Webhooks that stand here: what each has to tell are two questions more. */
const WEBHOOKS_MAX = 5;

/** A webhook, with what waits and what was given up lately. */
interface TroubledWebhook {
  readonly webhook: WebhookResource;
  readonly waiting: Found;
  readonly dropped: Found;
}

/** How many, and one of them: the oldest that waits, the latest that was given up. */
interface Found {
  readonly count: number;
  readonly first: WebhookDeliveryResource | null;
}

async function askTroubles({ api }: Live) {
  const nowMs = Date.now();
  const inTrouble = (trouble: Trouble) =>
    api.list_webhooks.query({ ...troubleFilters(trouble, nowMs), page_size: WEBHOOKS_MAX });
  const [admins, waiting, dropped] = await Promise.all([
    api.list_admins.query({ status__in: ['live', 'draining'], page_size: ADMINS_MAX }),
    inTrouble('waiting'),
    inTrouble('dropped'),
  ]);
  const named = [...new Map([...waiting.data, ...dropped.data].map((one) => [one.id, one])).values()];
  return {
    admins: admins.data,
    webhooks: await Promise.all(named.slice(0, WEBHOOKS_MAX).map((webhook) => troublesOf(api, webhook, nowMs))),
    waiting: waiting.pagination.total_count,
    dropped: dropped.pagination.total_count,
  };
}

async function troublesOf(api: Live['api'], webhook: WebhookResource, nowMs: number): Promise<TroubledWebhook> {
  const { dropped_at__gte: since = '' } = troubleFilters('dropped', nowMs);
  const [waiting, dropped] = await Promise.all([
    api.list_webhook_deliveries.query({
      webhook_id__in: webhook.id,
      status__in: ['pending'],
      sort: 'inserted_at',
      page_size: 1,
    }),
    api.list_webhook_deliveries.query({
      webhook_id__in: webhook.id,
      status__in: ['dropped'],
      updated_at__gte: since,
      sort: '-updated_at',
      page_size: 1,
    }),
  ]);
  return { webhook, waiting: foundIn(waiting), dropped: foundIn(dropped) };
}

function foundIn({ data, pagination }: DeliveryPage): Found {
  return { count: pagination.total_count, first: data[0] ?? null };
}

type DeliveryPage = Awaited<ReturnType<Live['api']['list_webhook_deliveries']['query']>>;

/** The section, asked again as every list is. */
export function Troubles({ live }: { readonly live: Live }) {
  const asked = usePolled(() => askTroubles(live));
  const { data } = asked.value;
  return (
    <section aria-labelledby="troubles">
      <h2 id="troubles">{T.title}</h2>
      <Asked polled={asked.value} text={TEXTS.overview.notAsked} />
      {data !== null && <Listed {...data} />}
    </section>
  );
}

function Listed({ admins, webhooks, waiting, dropped }: Awaited<ReturnType<typeof askTroubles>>) {
  const troubled = admins.filter(({ problems }) => problems !== null && problems.length > 0);
  const untold = admins.filter(({ problems }) => problems === null).map(({ name }) => name);
  return (
    <>
      {troubled.length + webhooks.length === 0 && <p class="well">{T.none}</p>}
      <ul class="troubles">
        {troubled.flatMap(problemsOf)}
        {webhooks.map((one) => (
          <Webhook key={one.webhook.id} {...one} />
        ))}
      </ul>
      {untold.length > 0 && <p class="soft">{T.untold(untold)}</p>}
      {waiting > WEBHOOKS_MAX && <AllOf trouble="waiting" text={T.allWaiting(waiting)} />}
      {dropped > WEBHOOKS_MAX && <AllOf trouble="dropped" text={T.allDropped(dropped)} />}
    </>
  );
}

function problemsOf({ name, problems }: PeerAdminResource) {
  return (problems ?? []).map(({ check, problem }) => (
    <li key={`${name} ${check}`}>
      <a href={addressOf('admin', { id: name })}>
        <bdi>{name}</bdi>
      </a>{' '}
      <code>{check}</code> <span class="ill">{problem}</span>
    </li>
  ));
}

function Webhook({ webhook: { id, url }, waiting, dropped }: TroubledWebhook) {
  const status = waiting.count > 0 ? 'pending' : 'dropped';
  const why = reasonOf(waiting.first) ?? reasonOf(dropped.first);
  return (
    <li>
      <a href={addressOf('webhook', { id, search: `?status__in=${status}` })}>
        <bdi class="url">{url}</bdi>
      </a>{' '}
      {waiting.first !== null && (
        <span class="ill">
          {T.waiting(waiting.count)} <Ago at={waiting.first.inserted_at} />
        </span>
      )}{' '}
      {dropped.count > 0 && <span class="ill">{T.dropped(dropped.count)}</span>}{' '}
      {why !== null && <bdi class="soft">{why}</bdi>}
    </li>
  );
}

/** Of its latest try; null: there was none. */
function reasonOf(delivery: WebhookDeliveryResource | null): string | null {
  if (delivery === null) return null;
  const { last_error: error, last_status_code: code } = delivery;
  return error ?? (code === null ? null : T.status(code));
}

function AllOf({ trouble, text }: { readonly trouble: Trouble; readonly text: string }) {
  return (
    <p>
      <a href={addressOf('webhooks', { search: `?trouble=${trouble}` })}>{text}</a>
    </p>
  );
}
