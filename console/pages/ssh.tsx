/** Who may log in by SSH, and where. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { SshUsernameResource } from '../../actors/resources/ssh.ts';
import { idsOf, namesOf, type NamedNode } from '../lists/named-nodes.ts';
import { publicKeysIn } from '../lists/public-keys.ts';
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
import { SSH as T } from '../texts/ssh.ts';

const address = (search: string): string => addressOf('ssh', { search });

/** A username with the node that it opens; null: that is gone. */
type Row = SshUsernameResource & { readonly node: NamedNode | null };

/** The list. */
export function SshPage({ live, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS.ssh), [search]);
  const isCreating = useSignal(false);
  const round = useSignal(0);
  const changed = (): void => {
    round.value += 1;
  };
  const parameters = LIST_PARAMETERS.ssh(state);
  return (
    <>
      <Heading text={TEXTS.pages.ssh}>
        <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
          {T.create}
        </button>
      </Heading>
      <p class="lead">{T.lead}</p>
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'username', label: T.username, hint: T.usernameHint },
          { name: 'cluster_name', label: T.cluster, hint: T.clusterHint },
          { name: 'key_name', label: T.keyName, hint: T.keyNameHint },
          { name: 'has_password', label: T.password, options: Object.entries(T.has) },
        ]}
      />
      <ListElsewhere page="ssh" state={state} />
      <PagedList
        label={TEXTS.pages.ssh}
        state={state}
        address={address}
        ask={async () => {
          const answer = await live.api.list_ssh_usernames.query(parameters);
          const nodes = await namesOf(
            live.api,
            answer.data.map(({ node_id: id }) => id),
          );
          return { ...answer, data: answer.data.map((row): Row => ({ ...row, node: nodes.get(row.node_id) ?? null })) };
        }}
        idOf={({ id }) => id}
        detail={({ id }) => addressOf('ssh-username', { id })}
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
    { name: 'username', title: columns.username, sort: 'username', cell: (row) => <bdi>{row.username}</bdi> },
    {
      name: 'node',
      title: columns.node,
      cell: ({ node }) => (node === null ? <span class="soft">{T.gone}</span> : <bdi>{node.name}</bdi>),
    },
    { name: 'cluster', title: columns.cluster, sort: 'cluster_name', cell: ({ node }) => node?.cluster },
    { name: 'password', title: columns.password, cell: (row) => T.has[`${row.has_password}`] },
    { name: 'created', title: columns.created, sort: 'inserted_at', cell: (row) => <Ago at={row.inserted_at} /> },
    {
      name: 'actions',
      title: columns.actions,
      cell: (row) => (
        <button type="button" aria-label={T.removeOf(row.username)} onClick={() => void remove(live, row, changed)}>
          {T.remove}
        </button>
      ),
    },
  ];
}

async function remove(live: Live, { id, username, node }: Row, changed: () => void): Promise<void> {
  const isDone = await doneIfConfirmed(
    {
      title: T.removeTitle(username),
      text: T.removeText,
      items: [`${username} · ${node?.name ?? T.gone}`],
      name: username,
      action: T.remove,
    },
    () => live.api.delete_ssh_username.mutate({ id }),
    T.removed(username),
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
  const create = useCreate(live.api.create_ssh_username.mutate);
  return (
    <FormDialog
      title={form.title}
      action={form.action}
      onClose={onClose}
      send={async (valueOf) => {
        const named = valueOf('node');
        const [id, another] = await idsOf(live.now, named);
        if (id === undefined) throw new Error(form.noNode(named));
        if (another !== undefined) throw new Error(form.manyNodes(named));
        const [username, password] = [valueOf('username'), valueOf('password')];
        await create({
          node_id: id,
          username,
          public_keys: publicKeysIn(valueOf('keys'), username),
          ...(password !== '' && { password }),
        });
        notify({ text: T.created(username) });
        onMade();
      }}
    >
      <Field label={form.node} hint={form.nodeHint}>
        <input name="node" required defaultValue={node} autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={T.username} hint={form.usernameHint}>
        <input name="username" required maxLength={32} autocomplete="off" spellcheck={false} />
      </Field>
      <Field label={T.password} hint={form.passwordHint}>
        <input name="password" type="password" maxLength={128} autocomplete="new-password" />
      </Field>
      <Field label={form.keys} hint={form.keysHint}>
        <textarea name="keys" rows={3} spellcheck={false} />
      </Field>
    </FormDialog>
  );
}
