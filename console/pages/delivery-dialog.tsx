/** A delivery: what was sent, all of its tries, and the beginning of what was answered to each. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Envelope } from '../../actors/events.ts';
import type { WebhookAttempt } from '../../actors/resources/webhook.ts';
import type { Live } from '../live.ts';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { usePolled } from '../poll.ts';
import { WEBHOOKS } from '../texts/webhooks.ts';

const T = WEBHOOKS.one;

interface DeliveryDialogProps {
  readonly live: Live;
  readonly id: string;
  readonly onClose: () => void;
}

/** Asked again as long as it is open. */
export function DeliveryDialog({ live, id, onClose }: DeliveryDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const polled = usePolled(() => live.api.get_webhook_delivery.query({ id }), id);
  const { data, failure } = polled.value;
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const attempts = data?.attempts ?? [];
  return (
    <dialog ref={dialog} class="form made" aria-labelledby="delivery-title" onClose={onClose}>
      <form method="dialog">
        <h2 id="delivery-title">{data?.event_type ?? T.tries}</h2>
        {(data === null || failure !== null) && <Asked polled={polled.value} />}
        {data !== null && (
          <p class="soft">
            {T.event} <code>{data.event_id}</code>
          </p>
        )}
        {data !== null && <Sent event={data.event ?? null} />}
        {data !== null && attempts.length === 0 && <p>{T.noTry}</p>}
        {attempts.map((attempt) => (
          <Attempt key={attempt.number} attempt={attempt} />
        ))}
        <div class="answers">
          <button class="primary" autofocus>
            {T.close}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** The body of every try, laid out for reading. */
function Sent({ event }: { readonly event: Envelope | null }) {
  if (event === null) return <p class="soft">{T.sentGone}</p>;
  return (
    <details class="attempt">
      <summary>{T.sent}</summary>
      <pre tabIndex={0} aria-label={T.sent}>
        <bdi>{JSON.stringify(event, null, 2)}</bdi>
      </pre>
    </details>
  );
}

function Attempt({ attempt }: { readonly attempt: WebhookAttempt }) {
  const { number: count, attempted_at: at, duration_ms: ms, status_code: code, error, response_body: body } = attempt;
  return (
    <section class="attempt">
      <h3>
        {T.try(count)}{' '}
        <span class="soft">
          <Ago at={at} /> · {T.ms(ms)} · {code === null ? T.noAnswer : T.answered(code)}
        </span>
      </h3>
      {error !== null && (
        <p class="problem">
          <bdi>{error}</bdi>
        </p>
      )}
      {body !== null && (
        <pre tabIndex={0} aria-label={T.body}>
          <bdi>{body === '' ? T.noBody : body}</bdi>
        </pre>
      )}
    </section>
  );
}
