/** A new enrolment key, and then the line that it is for. */
import { useSignal } from '@preact/signals';
import { useCreate } from '../parts/use-create.ts';
import type { Fleet } from '../fleet/feed.ts';
import { labelsIn } from '../lists/labels.ts';
import type { Live } from '../live.ts';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { ClusterNames, useClusterNames } from '../parts/cluster-names.tsx';
import { ENROLLMENT_KEYS } from '../texts/enrollment-keys.ts';
import { InstallDialog } from './install-dialog.tsx';

const { form: T } = ENROLLMENT_KEYS;

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
  if (made.value !== null) return <InstallDialog live={live} secret={made.value} onClose={onClose} />;
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
