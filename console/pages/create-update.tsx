/** A new update: who would be reached is shown before it starts. */
import { useSignal } from '@preact/signals';
import { useCreate } from '../parts/use-create.ts';
import { targetingOf } from '../lists/targeting.ts';
import type { Live } from '../live.ts';
import { confirmed } from '../parts/confirm.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { notify } from '../parts/notice.tsx';
import { useIsThere } from '../parts/there.ts';
import { go } from '../router.ts';
import { addressOf } from '../routes.ts';
import { NAMED_NODES_MAX } from '../run/form.ts';
import { UPDATES } from '../texts/updates.ts';

const { form: T, confirm: ASK } = UPDATES;

/** Asks, shows whom it reaches, starts. */
export function CreateUpdate({ live, onClose }: { readonly live: Live; readonly onClose: () => void }) {
  const type = useSignal<string>('all');
  const isThere = useIsThere();
  const create = useCreate(live.api.create_self_update_request.mutate);
  return (
    <FormDialog
      title={T.title}
      action={T.look}
      onClose={onClose}
      send={async (valueOf) => {
        const [labels, version] = [valueOf('labels'), valueOf('version')];
        const targeting = targetingOf({
          type: type.value,
          clusters: valueOf('clusters'),
          group: valueOf('group'),
          labels,
          version,
        });
        const { node_count: count, nodes } = await live.now.preview_targeting.query({
          targeting,
          max_nodes: NAMED_NODES_MAX,
        });
        if (!isThere.current) throw new NotWanted();
        if (count === 0) throw new Error(ASK.nobody);
        const isWanted = await confirmed({
          title: ASK.title(count),
          text: ASK.text(nodes.length, count),
          items: nodes.map(({ name, cluster_name: cluster, status }) => `${name} · ${cluster} · ${status}`),
          action: T.start,
        });
        if (!isWanted) throw new NotWanted();
        const { id } = await create({
          targeting,
          batch_size: numberOf(valueOf('batch')),
          max_failures: numberOf(valueOf('failures')),
          health_timeout: numberOf(valueOf('timeout')),
        });
        notify({ text: UPDATES.started });
        if (isThere.current) go(addressOf('update', { id }));
      }}
    >
      <Targets type={type.value} choose={(chosen) => (type.value = chosen)} />
      <Field label={T.labels} hint={T.labelsHint}>
        <input name="labels" autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={T.version} hint={T.versionHint}>
        <input name="version" autocomplete="off" />
      </Field>
      <Field label={T.batch} hint={T.batchHint}>
        <input name="batch" type="number" min={1} />
      </Field>
      <Field label={T.failures} hint={T.failuresHint}>
        <input name="failures" type="number" min={1} />
      </Field>
      <Field label={T.timeout} hint={T.timeoutHint}>
        <input name="timeout" type="number" min={1} />
      </Field>
    </FormDialog>
  );
}

interface TargetsProps {
  readonly type: string;
  readonly choose: (type: string) => void;
}

function Targets({ type, choose }: TargetsProps) {
  return (
    <>
      <Field label={T.target}>
        <select value={type} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {Object.entries(T.targets).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      {type === 'clusters' && (
        <Field label={T.clusters} hint={T.clustersHint}>
          <input name="clusters" required autocomplete="off" spellcheck={false} />
        </Field>
      )}
      {type === 'group' && (
        <Field label={T.group}>
          <input name="group" required autocomplete="off" spellcheck={false} />
        </Field>
      )}
    </>
  );
}

/** Nothing is wrong: the form stays as it is. */
class NotWanted extends Error {
  constructor() {
    super('');
  }
}

function numberOf(text: string): number | null {
  return text === '' ? null : Number(text);
}
