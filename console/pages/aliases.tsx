/** All aliases: which names lead to which nodes. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { AliasResource } from '../../actors/resources/node.ts';
import { idsOf, namesOf, type NamedNode } from '../lists/named-nodes.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import { useCreate } from '../parts/use-create.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { notify } from '../parts/notice.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { addressOf } from '../routes.ts';
import { TEXTS } from '../texts.ts';
import { ALIASES as T, GROUPS } from '../texts/groups.ts';

const address = (search: string): string => addressOf('aliases', { search });

/** An alias with the node that it leads to; null: that is gone. */
type Row = AliasResource & { readonly node: NamedNode | null };

/** The list. */
export function AliasesPage({ live, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS.aliases), [search]);
  const isCreating = useSignal(false);
  const round = useSignal(0);
  const changed = (): void => {
    round.value += 1;
  };
  const parameters = LIST_PARAMETERS.aliases(state);
  return (
    <>
      <Heading text={TEXTS.pages.aliases}>
        <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
          {T.create}
        </button>
      </Heading>
      <p class="lead">{T.lead}</p>
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'name', label: T.name, hint: T.nameHint },
          { name: 'cluster_name', label: T.cluster, hint: T.clusterHint },
        ]}
      />
      <ListElsewhere page="aliases" state={state} />
      <PagedList
        label={TEXTS.pages.aliases}
        state={state}
        address={address}
        ask={async () => {
          const answer = await live.api.list_aliases.query(parameters);
          const nodes = await namesOf(
            live.api,
            answer.data.map(({ node_id: id }) => id),
          );
          return { ...answer, data: answer.data.map((row): Row => ({ ...row, node: nodes.get(row.node_id) ?? null })) };
        }}
        idOf={({ id }) => id}
        detail={({ node_id: id }) => addressOf('node', { id })}
        columns={columnsOf(live, changed)}
        empty={T.empty}
        round={round.value}
      />
      {isCreating.value && (
        <Create
          live={live}
          node={state.filters.node_id__in ?? ''}
          onMade={changed}
          onClose={() => (isCreating.value = false)}
        />
      )}
    </>
  );
}

function columnsOf(live: Live, changed: () => void): readonly ListColumn<Row>[] {
  const { columns } = T;
  return [
    { name: 'name', title: columns.name, sort: 'name', cell: ({ name }) => name },
    {
      name: 'node',
      title: columns.node,
      cell: ({ node }) => (node === null ? <span class="soft">{T.gone}</span> : <bdi>{node.name}</bdi>),
    },
    { name: 'cluster', title: columns.cluster, sort: 'cluster_name', cell: (row) => row.cluster_name },
    { name: 'hostname', title: columns.hostname, cell: (row) => <code>{row.vpn_hostname}</code> },
    { name: 'created', title: columns.created, sort: 'inserted_at', cell: (row) => <Ago at={row.inserted_at} /> },
    {
      name: 'actions',
      title: columns.actions,
      cell: (row) => (
        <button
          type="button"
          aria-label={T.removeOf(row.name, row.cluster_name)}
          onClick={() => void remove(live, row, changed)}
        >
          {T.remove}
        </button>
      ),
    },
  ];
}

async function remove(live: Live, { id, name, vpn_hostname: hostname }: Row, changed: () => void): Promise<void> {
  const isDone = await doneIfConfirmed(
    { title: T.removeTitle(name), text: T.removeText, items: [hostname], name, action: T.remove },
    () => live.api.delete_alias.mutate({ id }),
    T.removed(name),
  );
  if (isDone) changed();
}

interface CreateProps {
  readonly live: Live;
  readonly node: string;
  readonly onMade: () => void;
  readonly onClose: () => void;
}

function Create({ live, node, onMade, onClose }: CreateProps) {
  const { form } = T;
  const create = useCreate(live.api.create_alias.mutate);
  return (
    <FormDialog
      title={form.title}
      action={form.action}
      onClose={onClose}
      send={async (valueOf) => {
        const named = valueOf('node');
        const [id, another] = await idsOf(live.now, named);
        if (id === undefined) throw new Error(GROUPS.form.noNode(named));
        if (another !== undefined) throw new Error(GROUPS.form.manyNodes(named));
        const name = valueOf('name');
        await create({ node_id: id, name });
        notify({ text: T.created(name) });
        onMade();
      }}
    >
      <Field label={form.node} hint={form.nodeHint}>
        <input name="node" required defaultValue={node} autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={T.name} hint={form.nameHint}>
        <input name="name" required maxLength={63} autocomplete="off" spellcheck={false} />
      </Field>
    </FormDialog>
  );
}
