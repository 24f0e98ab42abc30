/** A new group: which nodes are meant. How many that are now is said once it is there. */
import { useSignal } from '@preact/signals';
import { useCreate } from '../parts/use-create.ts';
import { idsOf } from '../lists/named-nodes.ts';
import { plainTargetingOf } from '../lists/targeting.ts';
import type { Live } from '../live.ts';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { notify } from '../parts/notice.tsx';
import { useLead } from '../parts/there.ts';
import { addressOf } from '../routes.ts';
import { GROUPS } from '../texts/groups.ts';

const T = GROUPS.form;

/** Asks, creates, leads to it. */
export function CreateGroup({ live, onClose }: { readonly live: Live; readonly onClose: () => void }) {
  const type = useSignal<string>('all');
  const lead = useLead();
  const create = useCreate(live.api.create_group.mutate);
  return (
    <FormDialog
      title={T.title}
      action={T.action}
      onClose={onClose}
      send={async (valueOf) => {
        const [name, description] = [valueOf('name'), valueOf('description')];
        const targeting = plainTargetingOf({
          type: type.value,
          clusters: valueOf('clusters'),
          nodes: type.value === 'nodes' ? await nodeIdsIn(live.now, valueOf('nodes')) : [],
          labels: valueOf('labels'),
          version: valueOf('version'),
        });
        await create({ name, targeting, ...(description !== '' && { description }) });
        const { node_count: count } = await live.api.preview_targeting.query({ targeting });
        notify({ text: GROUPS.created(name, count) });
        lead(addressOf('group', { id: name }));
      }}
    >
      <Field label={GROUPS.name} hint={T.nameHint}>
        <input name="name" required maxLength={24} autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={T.description}>
        <input name="description" maxLength={1_024} autocomplete="off" />
      </Field>
      <Field label={T.target}>
        <select value={type.value} onChange={({ currentTarget }) => (type.value = currentTarget.value)}>
          {Object.entries(T.targets).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      {type.value === 'clusters' && (
        <Field label={T.clusters} hint={T.clustersHint}>
          <input name="clusters" required autocomplete="off" spellcheck={false} />
        </Field>
      )}
      {type.value === 'nodes' && (
        <Field label={T.nodes} hint={T.nodesHint}>
          <input name="nodes" required autocomplete="off" spellcheck={false} />
        </Field>
      )}
      <Field label={T.labels} hint={T.labelsHint}>
        <input name="labels" autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={T.version} hint={T.versionHint}>
        <input name="version" autocomplete="off" />
      </Field>
    </FormDialog>
  );
}

/** The ids of all that are named. Rejects where a name is that of no node, or of several. */
async function nodeIdsIn(api: Live['api'], text: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const name of text.split(',').map((one) => one.trim())) {
    if (name === '') continue;
    const [id, another] = await idsOf(api, name);
    if (id === undefined) throw new Error(T.noNode(name));
    if (another !== undefined) throw new Error(T.manyNodes(name));
    ids.push(id);
  }
  return ids;
}
