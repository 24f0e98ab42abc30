/** A new webhook, and then its secret where one was made. The secret lives in this dialog alone. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { EventType } from '../../actors/events.ts';
import { useCreate } from '../parts/use-create.ts';
import { headersIn } from '../lists/header-lines.ts';
import type { Live } from '../live.ts';
import { CopyLine } from '../parts/elsewhere.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { TEXTS } from '../texts.ts';
import { WEBHOOKS } from '../texts/webhooks.ts';

const { form: T, made: MADE } = WEBHOOKS;

/** Random bytes of a secret that is made: twice what is advised, as text. */
const SECRET_BYTES = 32;

interface CreateWebhookProps {
  readonly live: Live;
  /** All types that there are. */
  readonly types: readonly EventType[];
  readonly onMade: () => void;
  readonly onClose: () => void;
}

/** Asks, creates, shows. */
export function CreateWebhook({ live, types, onMade, onClose }: CreateWebhookProps) {
  const chosen = useSignal<readonly EventType[]>([]);
  const made = useSignal<string | null>(null);
  const [ownSecret] = useState(newSecret);
  const create = useCreate(live.api.create_webhook.mutate);
  if (made.value !== null) return <Made secret={made.value} onClose={onClose} />;
  return (
    <FormDialog
      title={T.title}
      action={T.action}
      onClose={() => {
        if (made.value === null) onClose();
      }}
      send={async (valueOf) => {
        const headers = headersIn(valueOf('headers'));
        if (!headers.ok) throw new Error(T.badHeader(headers.line));
        if (chosen.value.length === 0) throw new Error(T.noEvents);
        const secret = valueOf('secret') || ownSecret;
        await create({
          url: valueOf('url'),
          secret,
          subscribed_events: [...chosen.value],
          headers: headers.headers,
        });
        onMade();
        if (valueOf('secret') === '') made.value = secret;
      }}
    >
      <Field label={WEBHOOKS.url} hint={T.urlHint}>
        <input name="url" type="url" required maxLength={2_048} placeholder={T.urlPlaceholder} autocomplete="off" />
      </Field>
      <Types types={types} chosen={chosen.value} choose={(now) => (chosen.value = now)} />
      <Field label={T.secret} hint={T.secretHint}>
        <input name="secret" type="password" maxLength={256} autocomplete="new-password" />
      </Field>
      <Field label={T.headers} hint={T.headersHint}>
        <textarea name="headers" rows={2} spellcheck={false} />
      </Field>
    </FormDialog>
  );
}

interface TypesProps {
  readonly types: readonly EventType[];
  readonly chosen: readonly EventType[];
  readonly choose: (chosen: readonly EventType[]) => void;
}

function Types({ types, chosen, choose }: TypesProps) {
  return (
    <fieldset>
      <legend>{T.events}</legend>
      <p>
        <button type="button" onClick={() => choose(types)}>
          {T.all}
        </button>{' '}
        <button type="button" onClick={() => choose([])}>
          {T.none}
        </button>
      </p>
      <div class="choices-of">
        {types.map((type) => (
          <label key={type}>
            <input
              type="checkbox"
              checked={chosen.includes(type)}
              onChange={({ currentTarget: { checked } }) =>
                choose(checked ? [...chosen, type] : chosen.filter((one) => one !== type))
              }
            />{' '}
            {type}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Made({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="form made" aria-labelledby="made-title" onClose={onClose}>
      <form method="dialog">
        <h2 id="made-title">{MADE.title}</h2>
        <p class="soft">{MADE.lead}</p>
        <CopyLine label={MADE.secret} text={secret} />
        <div class="answers">
          <button class="primary" autofocus>
            {TEXTS.form.done}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function newSecret(): string {
  return [...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
