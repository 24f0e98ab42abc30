/** Who is logged in to a node by SSH: asked of its agent when the page is opened, and when somebody says so. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { NodeSshSessionsResource, SshSessionResource } from '../../../actors/resources/ssh-session.ts';
import { refusalOf } from '../../../api/client/client.ts';
import { messageOf } from '../../failure.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { State } from '../../parts/state.tsx';
import { NODE } from '../../texts/node.ts';
import { AskedSection } from './asked-section.tsx';
import { useOnce } from './once.ts';

const T = NODE.sessions;

/** What can be open, in the order in which it is told. */
const KINDS = Object.keys(T.open) as readonly (keyof typeof T.open)[];

/** Asked anew where the status changed. */
export function SshSessions({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const asked = useOnce(() => sessionsOf(live, node.id), node.status).value;
  return (
    <AskedSection id="ssh-sessions" words={T} asked={asked}>
      {(told) => (typeof told === 'string' ? <State text={told} /> : <Known told={told} />)}
    </AskedSection>
  );
}

/** Why an agent cannot be asked, as where it is away or too old, is an answer too. */
async function sessionsOf(live: Live, id: string): Promise<NodeSshSessionsResource | string> {
  try {
    return await live.api.get_node_ssh_sessions.query({ node_id: id });
  } catch (error) {
    const code = refusalOf(error)?.code;
    if (code === 'conflict' || code === 'service_unavailable') return messageOf(error);
    throw error;
  }
}

function Known({ told }: { readonly told: NodeSshSessionsResource }) {
  const more = told.session_count - told.sessions.length;
  return (
    <>
      {told.session_count === 0 && <p class="soft">{T.none}</p>}
      <ul class="plain">
        {told.sessions.map((session, place) => (
          <Session key={place} session={session} />
        ))}
      </ul>
      {more > 0 && <p class="soft">{T.more(more)}</p>}
      <p class="soft">
        {T.asked} <Ago at={told.timestamp} /> {T.ago}.
      </p>
    </>
  );
}

function Session({ session }: { readonly session: SshSessionResource }) {
  const { username, account, connected_at: at, client_address: address, is_recorded: isRecorded } = session;
  const open = KINDS.flatMap((kind) => (session[kind] > 0 ? [T.open[kind](session[kind])] : []));
  return (
    <li>
      <bdi>{username}</bdi>
      {account !== username && (
        <>
          {' '}
          {T.as} <bdi>{account}</bdi>
        </>
      )}
      {`: ${open.length === 0 ? T.idle : open.join(', ')}`}{' '}
      <span class="soft">
        {isRecorded && `${T.recorded}, `}
        {address !== null && `${T.from(address)}, `}
        {NODE.for} <Ago at={at} />
      </span>
    </li>
  );
}
