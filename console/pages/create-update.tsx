/** A new update: who would be reached is shown before it starts. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Inputs } from '../../api/client/api.ts';
import { targetingOf } from '../lists/targeting.ts';
import type { Live } from '../live.ts';
import { confirmed } from '../parts/confirm.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { useIsThere } from '../parts/there.ts';
import { NAMED_NODES_MAX } from '../run/form.ts';
import { UPDATES } from '../texts/updates.ts';

const { form: T, confirm: ASK } = UPDATES;

/** What the form says, as it is typed. */
export interface UpdateForm extends Record<(typeof FIELDS)[number], string> {
  /** Of the targets. */
  readonly type: string;
}

const FIELDS = ['clusters', 'group', 'labels', 'version', 'batch', 'failures', 'timeout'] as const;

/** One that nobody typed into. */
export const EMPTY_UPDATE_FORM: UpdateForm = {
  type: 'all',
  clusters: '',
  group: '',
  labels: '',
  version: '',
  batch: '',
  failures: '',
  timeout: '',
};

/** An update that somebody wants. */
export interface WantedUpdate {
  /** What the form said at first. */
  readonly first: UpdateForm;
  readonly form: UpdateForm;
  readonly input: Inputs['create_self_update_request'];
  /** Nodes that it reaches now. */
  readonly count: number;
}

interface CreateUpdateProps {
  readonly live: Live;
  /** What it says at first. */
  readonly form: UpdateForm;
  readonly onWanted: (wanted: WantedUpdate) => void;
  readonly onClose: () => void;
}

/** Asks, and shows whom it reaches. Starting it is the matter of the page, as the form is gone by then. */
export function CreateUpdate({ live, form, onWanted, onClose }: CreateUpdateProps) {
  const first = useMemo(() => form, []); // fields that nobody typed into would follow another one
  const type = useSignal(first.type);
  const isThere = useIsThere();
  return (
    <FormDialog
      title={T.title}
      action={T.look}
      onClose={onClose}
      send={async (valueOf) => {
        const given = formOf(type.value, valueOf);
        const targeting = targetingOf(given);
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
        onWanted({
          first,
          form: given,
          input: {
            targeting,
            batch_size: numberOf(given.batch),
            max_failures: numberOf(given.failures),
            health_timeout: numberOf(given.timeout),
          },
          count,
        });
      }}
    >
      <Targets first={first} type={type.value} choose={(chosen) => (type.value = chosen)} />
      <Field label={T.labels} hint={T.labelsHint}>
        <input name="labels" defaultValue={first.labels} autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={T.version} hint={T.versionHint}>
        <input name="version" defaultValue={first.version} autocomplete="off" />
      </Field>
      <Field label={T.batch} hint={T.batchHint}>
        <input name="batch" defaultValue={first.batch} type="number" min={1} />
      </Field>
      <Field label={T.failures} hint={T.failuresHint}>
        <input name="failures" defaultValue={first.failures} type="number" min={1} />
      </Field>
      <Field label={T.timeout} hint={T.timeoutHint}>
        <input name="timeout" defaultValue={first.timeout} type="number" min={1} />
      </Field>
    </FormDialog>
  );
}

interface TargetsProps {
  readonly first: UpdateForm;
  readonly type: string;
  readonly choose: (type: string) => void;
}

function Targets({ first, type, choose }: TargetsProps) {
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
          <input name="clusters" defaultValue={first.clusters} required autocomplete="off" spellcheck={false} />
        </Field>
      )}
      {type === 'group' && (
        <Field label={T.group}>
          <input name="group" defaultValue={first.group} required autocomplete="off" spellcheck={false} />
        </Field>
      )}
    </>
  );
}

/** Of another kind of targets there are no fields: they are empty. */
function formOf(type: string, valueOf: (name: string) => string): UpdateForm {
  return { ...EMPTY_UPDATE_FORM, ...Object.fromEntries(FIELDS.map((name) => [name, valueOf(name)])), type };
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
