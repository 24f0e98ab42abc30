/** Brokers, relays and webhooks in trouble, at whichever admin, each with the way to its page. */
import type { OverviewResource, OverviewWebhook, OverviewWebhooks } from '../../../actors/resources/overview.ts';
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import { cutOf, GIVEN_UP, WAITING, type Trouble } from '../../lists/webhook-trouble.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import type { Polled } from '../../poll.ts';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { TROUBLES_TEXTS as T } from '../../texts/troubles.ts';

/** The section. What the service could not read in time says so, and leaves the other. */
export function Troubles({ polled }: { readonly polled: Polled<OverviewResource> }) {
  const { data } = polled;
  return (
    <section aria-labelledby="troubles">
      <h2 id="troubles">{T.title}</h2>
      <Asked polled={polled} text={TEXTS.overview.notAsked} />
      {data !== null && <Listed {...data} />}
    </section>
  );
}

function Listed({ admins, webhooks_in_trouble: webhooks }: OverviewResource) {
  const troubled = (admins ?? []).filter(({ problems }) => problems !== null && problems.length > 0);
  const untold = (admins ?? []).filter(isUntold).map(({ name }) => name);
  const named = webhooks?.named ?? [];
  return (
    <>
      {admins === null && <p class="soft">{T.adminsNotRead}</p>}
      {webhooks == null && <p class="soft">{T.webhooksNotRead}</p>}
      {admins !== null && webhooks != null && troubled.length + named.length === 0 && <p class="well">{T.none}</p>}
      <ul class="troubles">
        {troubled.flatMap(problemsOf)}
        {named.map((one) => (
          <Webhook key={one.id} webhook={one} max={webhooks?.deliveries_counted_max ?? Infinity} />
        ))}
      </ul>
      {untold.length > 0 && <p class="soft">{T.untold(untold)}</p>}
      {webhooks != null && <Cut webhooks={webhooks} />}
    </>
  );
}

/** Whether it is there, and of a release that does not tell: of one that is not there nothing is known. */
function isUntold({ status, problems }: PeerAdminResource): boolean {
  return problems === null && (status === 'live' || status === 'draining');
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

function Webhook({ webhook, max }: { readonly webhook: OverviewWebhook; readonly max: number }) {
  const { id, url, waiting, waiting_since: since, dropped } = webhook;
  const why = reasonOf(webhook);
  return (
    <li>
      <a href={addressOf('webhook', { id, search: since === null ? GIVEN_UP : WAITING })}>
        <bdi class="url">{url}</bdi>
      </a>{' '}
      {since !== null && (
        <span class="ill">
          {T.waiting(waiting, max)} <Ago at={since} />
        </span>
      )}{' '}
      {dropped > 0 && <span class="ill">{T.dropped(dropped, max)}</span>}{' '}
      {why !== null && <bdi class="soft">{why}</bdi>}
    </li>
  );
}

/** Of its latest try; null: there was none. */
function reasonOf({ last_error: error, last_status_code: code }: OverviewWebhook): string | null {
  return error ?? (code === null ? null : T.status(code));
}

function Cut({ webhooks }: { readonly webhooks: OverviewWebhooks }) {
  const { waiting, dropped } = cutOf(webhooks);
  return (
    <>
      {waiting !== null && <AllOf trouble="waiting" text={T.allWaiting(waiting)} />}
      {dropped !== null && <AllOf trouble="dropped" text={T.allDropped(dropped)} />}
    </>
  );
}

function AllOf({ trouble, text }: { readonly trouble: Trouble; readonly text: string }) {
  return (
    <p>
      <a href={addressOf('webhooks', { search: `?trouble=${trouble}` })}>{text}</a>
    </p>
  );
}
