/** A new enrolment key, and then the line that it is for. The key lives in this dialog alone. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useCreate } from '../parts/use-create.ts';
import type { Fleet } from '../fleet/feed.ts';
import { installLine } from '../lists/install-line.ts';
import { labelsIn } from '../lists/labels.ts';
import type { Live } from '../live.ts';
import { CopyLine } from '../parts/elsewhere.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { ClusterNames, useClusterNames } from '../parts/cluster-names.tsx';
import { Qr } from '../parts/qr.tsx';
import { TEXTS } from '../texts.ts';
import { ENROLLMENT_KEYS } from '../texts/enrollment-keys.ts';

const { form: T, made: MADE } = ENROLLMENT_KEYS;

interface CreateKeyProps {
  readonly live: Live;
  readonly fleet: Fleet;
  /** The one that is looked at; empty: none. */
  readonly cluster: string;
  readonly onMade: () => void;
  readonly onClose: () => void;
}

/** Asks, creates, shows. */
export function CreateKey({ live, fleet, cluster, onMade, onClose }: CreateKeyProps) {
  const made = useSignal<string | null>(null);
  const create = useCreate(live.api.create_enrollment_key.mutate);
  if (made.value !== null) return <Made live={live} secret={made.value} onClose={onClose} />;
  return (
    <FormDialog
      title={T.title}
      action={T.action}
      onClose={() => {
        if (made.value === null) onClose();
      }}
      send={async (valueOf) => {
        const labels = labelsIn(valueOf('labels'));
        if (!labels.ok) throw new Error(T.badLabel(labels.part));
        const [name, uses, seconds] = [valueOf('name'), valueOf('uses'), valueOf('expires')];
        const wanted = {
          cluster_name: valueOf('cluster'),
          name: name === '' ? null : name,
          uses_remaining: uses === '' ? null : Number(uses),
          expired_at: seconds === '' ? null : new Date(Date.now() + Number(seconds) * 1_000).toISOString(),
          labels: labels.labels,
        };
        const { key } = await create(wanted, seconds);
        made.value = key;
        onMade();
      }}
    >
      <Fields fleet={fleet} cluster={cluster} />
    </FormDialog>
  );
}

function Fields({ fleet, cluster }: Pick<CreateKeyProps, 'fleet' | 'cluster'>) {
  const clusters = useClusterNames(fleet);
  return (
    <>
      {clusters?.length === 0 && <p>{T.noCluster}</p>}
      <Field label={ENROLLMENT_KEYS.cluster}>
        <input
          name="cluster"
          list="key-clusters"
          required
          defaultValue={cluster}
          autocomplete="off"
          spellcheck={false}
        />
      </Field>
      <ClusterNames id="key-clusters" names={clusters} />
      <Field label={ENROLLMENT_KEYS.name} hint={T.nameHint}>
        <input name="name" maxLength={255} autocomplete="off" />
      </Field>
      <Field label={T.uses} hint={T.usesHint}>
        <input name="uses" type="number" min={1} defaultValue="1" />
      </Field>
      <Field label={T.expires}>
        <select name="expires">
          {T.lifetimes.map(([seconds, title]) => (
            <option key={seconds} value={seconds}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      <Field label={T.labels} hint={T.labelsHint}>
        <input name="labels" placeholder={T.labelsPlaceholder} autocomplete="off" spellcheck={false} />
      </Field>
    </>
  );
}

function Made({
  live,
  secret,
  onClose,
}: {
  readonly live: Live;
  readonly secret: string;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const hasRelease = useSignal(true);
  const { line, url } = installLine(secret, location.origin);
  useEffect(() => {
    dialog.current?.showModal();
    // where that is not known, the line says it on the machine
    void live.api.get_releases
      .query({})
      .then(({ channels }) => (hasRelease.value = channels.length > 0))
      .catch(() => undefined);
  }, []);
  return (
    <dialog ref={dialog} class="form made" aria-labelledby="made-title" onClose={onClose}>
      <form method="dialog">
        <h2 id="made-title">{MADE.title}</h2>
        <p class="soft">{MADE.lead}</p>
        <CopyLine label={MADE.line} text={line} />
        {!hasRelease.value && <p class="note">{MADE.noRelease}</p>}
        {url.startsWith('http:') && <p class="note">{MADE.plain}</p>}
        <Qr text={line} label={MADE.qr} />
        <details>
          <summary>{MADE.key}</summary>
          <CopyLine label={MADE.key} text={secret} />
        </details>
        <div class="answers">
          <button class="primary" autofocus>
            {TEXTS.form.done}
          </button>
        </div>
      </form>
    </dialog>
  );
}
