/** What can be done with chosen nodes. Nothing is done before the exact list was shown. */
import { useSignal } from '@preact/signals';
import { keyed, type Create } from '../../creates.ts';
import { useCreate } from '../../parts/use-create.ts';
import { problemOf } from '../../failure.ts';
import type { Fleet } from '../../fleet/feed.ts';
import {
  changesText,
  labelChangesOf,
  lineOf,
  RUN_NODES_MAX,
  typedNameOf,
  UPDATE_NODES_MAX,
  type LabelChanges,
} from '../../fleet/node-actions.ts';
import type { Inputs } from '../../../api/client/api.ts';
import type { Live } from '../../live.ts';
import { ClusterNames, useClusterNames } from '../../parts/cluster-names.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { Menu } from '../../parts/menu.tsx';
import { notify, soon } from '../../parts/notice.tsx';
import { go } from '../../router.ts';
import { EMPTY_FORM, runAddress, searchOfForm, type RunForm } from '../../run/form.ts';
import { handOver } from '../../run/handed-form.ts';
import { withoutAll } from '../../selection.ts';
import { NODE_ACTIONS as T } from '../../texts/node-actions.ts';
import { actOnEach, actOnSome, isBusy } from './bulk.tsx';
import { chosenOf } from './chosen-nodes.ts';

/** Longest text of a field, in characters. */
const FIELD_CHARACTERS_MAX = 2_000;

/**
 * Nodes that one request labels: as many as its answer has failures. Source: FAILED_NODES_MAX of
 * actors/resources/labelled-nodes.ts.
 */
const LABELLED_PER_CALL = 100;

interface Chosen {
  readonly fleet: Fleet;
  readonly live: Live;
  readonly ids: readonly string[];
}

/** The buttons. */
export function NodeActions(chosen: Chosen) {
  const { ids } = chosen;
  const isOff = isBusy();
  const createUpdate = useCreate(chosen.live.api.create_self_update_request.mutate);
  return (
    <div class="actions" role="group" aria-label={T.bar}>
      <button type="button" onClick={() => run(ids)}>
        {T.run}
      </button>
      <Menu title={T.move} label={T.moveLabel} isDisabled={isOff}>
        {(close) => <MoveForm {...chosen} close={close} />}
      </Menu>
      <button type="button" onClick={() => void update(chosen, createUpdate)}>
        {T.update}
      </button>
      <Menu title={T.label} label={T.labelLabel} isDisabled={isOff}>
        {(close) => (
          <TextForm
            field={T.labelField}
            hint={T.labelHint}
            help={T.labelHelp}
            next={T.labelNext}
            onText={(text) => {
              const changes = labelChangesOf(text);
              close();
              if (changes !== null) void label(chosen, changes);
            }}
          />
        )}
      </Menu>
      {ids.length === 1 && (
        <Menu title={T.alias} label={T.aliasLabel} isDisabled={isOff}>
          {(close) => (
            <TextForm
              field={T.aliasField}
              help={T.aliasHelp}
              next={T.aliasNext}
              onText={(name) => {
                close();
                void alias(chosen, name);
              }}
            />
          )}
        </Menu>
      )}
      <button type="button" class="danger" disabled={isOff} onClick={() => void remove(chosen)}>
        {T.remove}
      </button>
    </div>
  );
}

function TextForm({
  field,
  hint,
  help,
  next,
  onText,
}: {
  readonly field: string;
  readonly hint?: string;
  readonly help: string;
  readonly next: string;
  readonly onText: (text: string) => void;
}) {
  const text = useSignal('');
  return (
    <form
      class="menu-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.value.trim() !== '') onText(text.value.trim());
      }}
    >
      <label>
        <span>{field}</span>
        <input
          value={text.value}
          placeholder={hint}
          maxLength={FIELD_CHARACTERS_MAX}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
      </label>
      <p class="soft">{help}</p>
      <button class="primary" disabled={text.value.trim() === ''}>
        {next}
      </button>
    </form>
  );
}

/** The clusters are those of the service by name; any other can be typed. */
function MoveForm({ close, ...chosen }: Chosen & { readonly close: () => void }) {
  const names = useClusterNames(chosen.fleet);
  const cluster = useSignal('');
  return (
    <form
      class="menu-form"
      onSubmit={(event) => {
        event.preventDefault();
        const to = cluster.value.trim();
        close();
        if (to !== '') void move(chosen, to);
      }}
    >
      <label>
        <span>{T.moveTo}</span>
        <input
          list="move-clusters"
          value={cluster.value}
          maxLength={FIELD_CHARACTERS_MAX}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => (cluster.value = currentTarget.value)}
        />
      </label>
      <ClusterNames id="move-clusters" names={names} />
      <button class="primary" disabled={cluster.value.trim() === ''}>
        {T.moveNext}
      </button>
    </form>
  );
}

function linesOf({ fleet, ids }: Chosen): readonly string[] {
  return ids.map((id) => lineOf(id, fleet.rows.get(id)));
}

function run(ids: readonly string[]): void {
  if (ids.length > RUN_NODES_MAX) return notify({ kind: 'failed', text: T.runTooMany(RUN_NODES_MAX) });
  const form: RunForm = { ...EMPTY_FORM, place: 'nodes', nodes: ids.join(' ') };
  if (searchOfForm(form) === null) handOver(form);
  return go(runAddress(form));
}

async function move(chosen: Chosen, cluster: string): Promise<void> {
  const { ids, live } = chosen;
  const question = { title: T.moveTitle(ids.length, cluster), text: T.moveText, action: T.move };
  if (!(await confirmed({ ...question, items: linesOf(chosen) }))) return;
  soon(question.title, () => {
    void actOnEach(T.moving(cluster), ids, (id) => live.api.change_node_cluster.mutate({ id, cluster_name: cluster }));
  });
}

async function update(chosen: Chosen, create: Create<Inputs['create_self_update_request'], unknown>): Promise<void> {
  const { ids, fleet } = chosen;
  if (ids.length > UPDATE_NODES_MAX) return notify({ kind: 'failed', text: T.updateTooMany(UPDATE_NODES_MAX) });
  const question = { title: T.updateTitle(ids.length), text: T.updateText, action: T.update };
  if (!(await confirmed({ ...question, items: linesOf(chosen) }))) return;
  return soon(question.title, () => {
    const versions = ids.map((id) => fleet.rows.get(id)?.version);
    void create({ targeting: { type: 'nodes', node_ids: [...ids] } }, versions).then(
      () => notify({ text: T.updated(ids.length) }),
      (error: unknown) => notify({ kind: 'failed', text: problemOf(error) }),
    );
  });
}

async function label(chosen: Chosen, changes: LabelChanges): Promise<void> {
  const { ids, live } = chosen;
  const words = changesText(changes);
  const question = { title: T.labelTitle(ids.length), text: words, action: T.label };
  if (!(await confirmed({ ...question, items: linesOf(chosen) }))) return;
  const { set, removed } = changes;
  const change = { ...(Object.keys(set).length > 0 && { set }), ...(removed.length > 0 && { remove: [...removed] }) };
  soon(question.title, () => {
    void actOnSome(T.labelling(words), ids, {
      perCall: LABELLED_PER_CALL,
      async act(some) {
        const targeting = { type: 'nodes', node_ids: [...some] } as const;
        const { failed } = await live.api.label_nodes.mutate({ targeting, ...change });
        return failed.map(({ node_id: id, message: why }) => ({ id, why }));
      },
    });
  });
}

async function alias(chosen: Chosen, name: string): Promise<void> {
  const { ids, live } = chosen;
  const question = { title: T.aliasTitle(name), text: T.aliasText, action: T.alias };
  if (!(await confirmed({ ...question, items: linesOf(chosen) }))) return;
  soon(question.title, () => {
    const create = keyed(live.api.create_alias.mutate);
    void actOnEach(T.aliasing(name), ids, (id) => create({ node_id: id, name }));
  });
}

async function remove(asked: Chosen): Promise<void> {
  const { ids, fleet, live } = asked;
  const only = ids.length === 1 ? fleet.rows.get(ids[0] ?? '') : undefined;
  const isConfirmed = await confirmed({
    title: T.removeTitle(ids.length),
    text: T.removeText,
    items: linesOf(asked),
    name: only === undefined ? String(ids.length) : typedNameOf(only),
    action: T.remove,
    isDangerous: true,
  });
  if (!isConfirmed) return;
  const chosen = chosenOf(fleet);
  await actOnEach(T.removing, ids, async (id) => {
    await live.api.delete_node.mutate({ id });
    chosen.value = withoutAll(chosen.value, [id]);
  });
}
