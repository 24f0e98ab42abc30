/** One SSH username: which node it opens, and the keys that open it. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { SshPublicKeyResource } from '../../actors/resources/ssh.ts';
import { typedNameOf } from '../fleet/node-actions.ts';
import { namesOf } from '../lists/named-nodes.ts';
import { commentOf, typeOf } from '../lists/public-keys.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import { useCreate } from '../parts/use-create.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { CopyLine } from '../parts/elsewhere.tsx';
import { Field, FormDialog } from '../parts/form-dialog.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { notify } from '../parts/notice.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { addressOf } from '../routes.ts';
import { commandLine } from '../shell-words.ts';
import { TEXTS } from '../texts.ts';
import { SSH } from '../texts/ssh.ts';

const T = SSH.one;

/** The page. */
export function SshUsernamePage({ live, id, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, LIST_FILTERS['ssh-username']), [search]);
  const isAdding = useSignal(false);
  const round = useSignal(0);
  const polled = usePolled(async () => {
    const user = await live.api.get_ssh_username.query({ id });
    const nodes = await namesOf(live.api, [user.node_id]);
    return { user, node: nodes.get(user.node_id)?.name ?? null };
  }, id);
  const { data, failure } = polled.value;
  const changed = (): void => {
    round.value += 1;
  };
  return (
    <>
      <Heading text={data?.user.username ?? TEXTS.pages['ssh-username']}>
        <button type="button" class="primary" onClick={() => (isAdding.value = true)}>
          {T.add}
        </button>
      </Heading>
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && (
        <>
          <p class="lead">{T.lead(data.user.username)}</p>
          <dl class="facts">
            <dt>{T.node}</dt>
            <dd>{data.node === null ? SSH.gone : <bdi>{data.node}</bdi>}</dd>
            <dt>{SSH.password}</dt>
            <dd>{SSH.has[`${data.user.has_password}`]}</dd>
            <dt>{SSH.columns.created}</dt>
            <dd>
              <Ago at={data.user.inserted_at} />
            </dd>
          </dl>
          <CopyLine label={T.login} text={commandLine('edge ssh', `${data.user.username}@${data.user.node_id}`)} />
        </>
      )}
      <h2>{T.keys}</h2>
      <ListElsewhere page="ssh-username" state={state} id={id} />
      <PagedList
        label={T.keys}
        state={state}
        address={(end) => addressOf('ssh-username', { id, search: end })}
        ask={() =>
          live.api.list_ssh_public_keys.query({ ...LIST_PARAMETERS['ssh-username'](state), ssh_username_id__in: id })
        }
        idOf={(key) => key.id}
        columns={columnsOf(live, changed)}
        empty={T.empty}
        round={round.value}
      />
      {isAdding.value && <Add live={live} id={id} onMade={changed} onClose={() => (isAdding.value = false)} />}
    </>
  );
}

function columnsOf(live: Live, changed: () => void): readonly ListColumn<SshPublicKeyResource>[] {
  const { columns } = T;
  return [
    { name: 'name', title: columns.name, sort: 'key_name', cell: (key) => <bdi>{key.key_name}</bdi> },
    { name: 'type', title: columns.type, cell: (key) => <bdi>{typeOf(key.public_key)}</bdi> },
    { name: 'fingerprint', title: columns.fingerprint, cell: (key) => <code>{key.fingerprint}</code> },
    { name: 'created', title: columns.created, sort: 'inserted_at', cell: (key) => <Ago at={key.inserted_at} /> },
    {
      name: 'actions',
      title: columns.actions,
      cell: (key) => (
        <button type="button" aria-label={T.removeOf(key.key_name)} onClick={() => void remove(live, key, changed)}>
          {SSH.remove}
        </button>
      ),
    },
  ];
}

async function remove(live: Live, key: SshPublicKeyResource, changed: () => void): Promise<void> {
  const isDone = await doneIfConfirmed(
    {
      title: T.removeTitle(key.key_name),
      text: T.removeText,
      items: [key.fingerprint],
      name: typedNameOf({ name: key.key_name, id: key.id }),
      action: SSH.remove,
    },
    () => live.api.delete_ssh_public_key.mutate({ id: key.id }),
    T.removed,
  );
  if (isDone) changed();
}

interface AddProps {
  readonly live: Live;
  readonly id: string;
  readonly onMade: () => void;
  readonly onClose: () => void;
}

function Add({ live, id, onMade, onClose }: AddProps) {
  const create = useCreate(live.api.create_ssh_public_key.mutate);
  return (
    <FormDialog
      title={T.add}
      action={T.addAction}
      onClose={onClose}
      send={async (valueOf) => {
        const line = valueOf('key');
        const name = valueOf('name') || commentOf(line) || T.someKey;
        await create({ id, key_name: name, public_key: line });
        notify({ text: T.added });
        onMade();
      }}
    >
      <Field label={T.key} hint={T.keyHint}>
        <textarea name="key" required rows={3} spellcheck={false} />
      </Field>
      <Field label={T.keyName} hint={T.keyNameHint}>
        <input name="name" maxLength={255} autocomplete="off" />
      </Field>
    </FormDialog>
  );
}
