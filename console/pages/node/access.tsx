/** Who may log in to a node by SSH: usernames with their keys. */
import { useSignal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { SshPublicKeyResource, SshUsernameResource } from '../../../actors/resources/ssh.ts';
import type { Inputs } from '../../../api/client/api.ts';
import type { Create } from '../../creates.ts';
import { typedNameOf } from '../../fleet/node-actions.ts';
import { useCreate } from '../../parts/use-create.ts';
import type { Live } from '../../live.ts';
import { done } from '../../parts/acts.tsx';
import { Asked } from '../../parts/asked.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { usePolled } from '../../poll.ts';
import { NODE } from '../../texts/node.ts';
import { Section } from './section.tsx';

/** Usernames of one node, and keys of one username, that are shown: one page of a list each. */
const USERNAMES_MAX = 100;
const KEYS_MAX = 100;

const T = NODE.access;

/** `onUsers` hears the usernames that there are. */
export function Access({
  live,
  node,
  onUsers,
}: {
  readonly live: Live;
  readonly node: NodeResource;
  readonly onUsers: (names: readonly string[]) => void;
}) {
  const polled = usePolled(async () => {
    const { data } = await live.api.list_ssh_usernames.query({ node_id__in: [node.id], page_size: USERNAMES_MAX });
    onUsers(data.map(({ username }) => username));
    return data;
  }).value;
  const create = useCreate(live.api.create_ssh_username.mutate);
  const removed = (): void => {
    create.forget();
    polled.again();
  };
  return (
    <Section id="access" title={T.title}>
      {(polled.data === null || polled.failure !== null) && <Asked polled={polled} />}
      {polled.data?.length === 0 && <p class="soft">{T.none}</p>}
      {polled.data?.map((user) => (
        <User key={user.id} live={live} user={user} onRemoved={removed} />
      ))}
      <AddUser node={node} create={create} onChange={polled.again} />
    </Section>
  );
}

/** `onRemoved`: it may be gone, or not. */
function User({
  live,
  user,
  onRemoved,
}: {
  readonly live: Live;
  readonly user: SshUsernameResource;
  readonly onRemoved: () => void;
}) {
  const create = useCreate(live.api.create_ssh_public_key.mutate);
  const polled = usePolled(async () => (await live.api.get_ssh_username.query({ id: user.id })).public_keys ?? []);
  const { data, again } = polled.value;
  const keys = data ?? [];
  const remove = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.removeTitle(user.username),
      text: T.removeText,
      items: keys.map(({ key_name: name, fingerprint }) => `${name} ${fingerprint}`),
      name: user.username,
      action: NODE.remove,
      isDangerous: true,
    });
    if (!isWanted) return;
    await done(() => live.api.delete_ssh_username.mutate({ id: user.id }), T.removed(user.username));
    onRemoved();
  };
  const keyRemoved = (): void => {
    create.forget();
    again();
  };
  return (
    <div class="user">
      <div class="top">
        <h3>
          <bdi>{user.username}</bdi> <small class="soft">{user.has_password ? T.password : T.noPassword}</small>
        </h3>
        <button type="button" aria-label={NODE.removeOf(user.username)} onClick={() => void remove()}>
          {NODE.remove}
        </button>
      </div>
      <ul class="keys-of">
        {keys.slice(0, KEYS_MAX).map((key) => (
          <Key key={key.id} live={live} publicKey={key} onRemoved={keyRemoved} />
        ))}
      </ul>
      <AddKey user={user} create={create} onChange={again} />
    </div>
  );
}

function Key({
  live,
  publicKey: { id, key_name: name, fingerprint },
  onRemoved,
}: {
  readonly live: Live;
  readonly publicKey: SshPublicKeyResource;
  readonly onRemoved: () => void;
}) {
  const remove = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.removeKeyTitle(name),
      text: T.removeText,
      items: [fingerprint],
      name: typedNameOf({ name, id }),
      action: NODE.remove,
      isDangerous: true,
    });
    if (!isWanted) return;
    await done(() => live.api.delete_ssh_public_key.mutate({ id }), T.removed(name));
    onRemoved();
  };
  return (
    <li>
      <span>
        <bdi>{name}</bdi> <code>{fingerprint}</code>
      </span>
      <button type="button" aria-label={NODE.removeOf(name)} onClick={() => void remove()}>
        ×
      </button>
    </li>
  );
}

/** The name of a key is its comment, where it has one. */
function AddKey({
  user,
  create,
  onChange,
}: {
  readonly user: SshUsernameResource;
  readonly create: Create<Inputs['create_ssh_public_key'], unknown>;
  readonly onChange: () => void;
}) {
  const text = useSignal('');
  const add = async (): Promise<void> => {
    const publicKey = text.value.trim();
    const name = publicKey.split(/\s+/u).slice(2).join(' ') || T.unnamed;
    if (publicKey === '') return;
    const isAdded = await done(() => create({ id: user.id, key_name: name, public_key: publicKey }), T.added(name));
    if (!isAdded) return;
    text.value = '';
    onChange();
  };
  return (
    <form
      class="add"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <input
        aria-label={T.keyOf(user.username)}
        placeholder={T.keyPlaceholder}
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <button type="submit">{T.addKey}</button>
    </form>
  );
}

function AddUser({
  node,
  create,
  onChange,
}: {
  readonly node: NodeResource;
  readonly create: Create<Inputs['create_ssh_username'], unknown>;
  readonly onChange: () => void;
}) {
  const name = useSignal('');
  const add = async (): Promise<void> => {
    const username = name.value.trim();
    if (username === '') return;
    const isAdded = await done(() => create({ node_id: node.id, username }), T.addedUser(username));
    if (!isAdded) return;
    name.value = '';
    onChange();
  };
  return (
    <form
      class="add"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <input
        aria-label={T.user}
        placeholder={T.userPlaceholder}
        autocomplete="off"
        spellcheck={false}
        value={name.value}
        onInput={({ currentTarget }) => (name.value = currentTarget.value)}
      />
      <button type="submit">{T.addUser}</button>
    </form>
  );
}
