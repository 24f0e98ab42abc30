/** As whom, and with what. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { Asked } from '../../parts/asked.tsx';
import { CopyLine } from '../../parts/elsewhere.tsx';
import { State } from '../../parts/state.tsx';
import type { PageProps } from '../../page-props.ts';
import { usePolled } from '../../poll.ts';
import { makeBrowserKey } from '../../terminal/browser-key.ts';
import type { Login } from '../../terminal/connection.ts';
import { TERMINAL } from '../../texts/terminal.ts';
import { edgeName } from '../node/lines.ts';
import { SameElsewhere } from './same-elsewhere.tsx';

/** Usernames that are offered. */
const USERS_MAX = 100;

interface FormProps extends Pick<PageProps, 'live'> {
  readonly node: NodeResource;
  /** Why the last try came to nothing. */
  readonly problem: string | null;
  readonly signIn: (login: Omit<Login, 'size'>) => void;
}

/** The form. Each terminal makes a key of its own, so here one is made only to see whether this browser can. */
export function SignInForm(props: FormProps) {
  const { node, live, problem } = props;
  const hasKeys = useSignal<boolean | null>(null);
  useEffect(() => void makeBrowserKey().then((made) => (hasKeys.value = made !== null)), []);
  const users = usePolled(() =>
    live.api.list_ssh_usernames.query({ node_id__in: [node.id], sort: 'username', page_size: USERS_MAX }),
  );
  const { data } = users.value;
  const username = useSignal('');
  const first = data?.data[0]?.username ?? '';
  useEffect(() => {
    if (username.value === '') username.value = first; // one that is added later changes nothing under a password
  }, [first]);
  return (
    <>
      <p class="lead">{TERMINAL.lead}</p>
      {problem !== null && (
        <p class="bar bad" role="alert">
          <bdi>{problem}</bdi>
        </p>
      )}
      <Asked polled={users.value} />
      {data !== null && data.data.length === 0 && (
        <State text={TERMINAL.noUsers}>
          <CopyLine label={TERMINAL.noUsers} text={`edge sshuser add ${edgeName(node)} NAME`} />
        </State>
      )}
      {data !== null && data.data.length > 0 && username.value !== '' && hasKeys.value !== null && (
        <Fields {...props} users={data.data} username={username} hasKeys={hasKeys.value} />
      )}
      <SameElsewhere node={node} user={username.value === '' ? null : username.value} />
    </>
  );
}

function Fields({
  node,
  users,
  username,
  hasKeys,
  signIn,
}: FormProps & {
  readonly users: readonly { readonly username: string; readonly has_password: boolean }[];
  readonly username: Signal<string>;
  readonly hasKeys: boolean;
}) {
  const isByKey = useSignal(hasKeys);
  const password = useSignal('');
  const hasPassword = users.find((one) => one.username === username.value)?.has_password ?? false;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isByKey.value && password.value === '') return;
    signIn({
      node: node.id,
      username: username.value,
      signIn: isByKey.value ? { type: 'key' } : { type: 'password', password: password.value },
    });
  };
  return (
    <form class="sign-in-to" onSubmit={submit}>
      <label>
        <span>{TERMINAL.user}</span>
        <select value={username.value} onChange={({ currentTarget }) => (username.value = currentTarget.value)}>
          {users.map((one) => (
            <option key={one.username} value={one.username}>
              {one.username}
            </option>
          ))}
        </select>
      </label>
      <Ways isByKey={isByKey} hasKey={hasKeys} />
      {isByKey.value ? (
        <p class="soft">{TERMINAL.keyNote}</p>
      ) : (
        <label>
          <span>{TERMINAL.passwordField}</span>
          <input
            type="password"
            autocomplete="off"
            value={password.value}
            onInput={({ currentTarget }) => (password.value = currentTarget.value)}
          />
        </label>
      )}
      {!hasKeys && <p class="soft">{TERMINAL.noKey}</p>}
      {!isByKey.value && !hasPassword && <p class="soft">{TERMINAL.noPassword}</p>}
      <button class="primary">{TERMINAL.open}</button>
    </form>
  );
}

/** By what somebody signs in. */
function Ways({ isByKey, hasKey }: { readonly isByKey: Signal<boolean>; readonly hasKey: boolean }) {
  return (
    <fieldset>
      <legend>{TERMINAL.with}</legend>
      <label>
        <input
          type="radio"
          name="with"
          checked={isByKey.value}
          disabled={!hasKey}
          onChange={() => (isByKey.value = true)}
        />{' '}
        {TERMINAL.key}
      </label>
      <label>
        <input type="radio" name="with" checked={!isByKey.value} onChange={() => (isByKey.value = false)} />{' '}
        {TERMINAL.password}
      </label>
    </fieldset>
  );
}
