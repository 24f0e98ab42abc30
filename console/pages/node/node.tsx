/** One node: how it is and why, what it is, and everything that can be done with it. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import { useSignal } from '@preact/signals';
import type { Fleet } from '../../fleet/feed.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Heading } from '../../parts/heading.tsx';
import { State } from '../../parts/state.tsx';
import { Status } from '../../parts/status.tsx';
import type { PageProps } from '../../page-props.ts';
import { exactly } from '../../relative-time.ts';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { NODE } from '../../texts/node.ts';
import { Access } from './access.tsx';
import { Actions } from './actions.tsx';
import { Charts } from './charts.tsx';
import { Diagnosis } from './diagnosis.tsx';
import { Executions } from './executions.tsx';
import { Identity, Machine, Ports, Reach } from './facts.tsx';
import { Groups } from './groups.tsx';
import { History } from './history.tsx';
import { Logins } from './logins.tsx';
import { Aliases, Labels } from './names.tsx';
import { Recordings } from './recordings.tsx';
import { SshSessions } from './ssh-sessions.tsx';
import { StatusDetails } from './status.tsx';
import { VpnPeers } from './vpn.tsx';
import { useNode } from './watched.ts';

/** The page. */
export function NodePage(props: PageProps) {
  const watched = useNode(props, props.id).value;
  switch (watched.kind) {
    case 'loading':
      return <Standing kind="loading" text={TEXTS.states.loading} />;
    case 'missing':
      return <Standing kind="empty" text={NODE.missing} />;
    case 'failed':
      return <Standing kind="failed" text={`${TEXTS.states.failed} ${watched.message}`} />;
    case 'deleted':
      return <Shown live={props.live} fleet={props.fleet} node={watched.node} deletedAt={watched.at} />;
    case 'there':
      return <Shown live={props.live} fleet={props.fleet} node={watched.node} deletedAt={null} />;
    default:
      return watched satisfies never;
  }
}

/** What stands there while there is no node to show. */
function Standing({ kind, text }: { readonly kind: 'loading' | 'empty' | 'failed'; readonly text: string }) {
  return (
    <>
      <Heading text={TEXTS.pages.node} />
      <State kind={kind} text={text}>
        {kind !== 'loading' && <a href={addressOf('nodes')}>{NODE.back}</a>}
      </State>
    </>
  );
}

interface Shown {
  readonly live: Live;
  readonly fleet: Fleet;
  readonly node: NodeResource;
  /** ISO 8601; null: it is there. */
  readonly deletedAt: string | null;
}

function Shown({ live, fleet, node, deletedAt }: Shown) {
  const users = useSignal<readonly string[]>([]);
  const isThere = deletedAt === null;
  return (
    <div class="node">
      <Heading text={node.name}>
        <p class="now">
          <Status status={node.status} /> <span class="soft">{NODE.for}</span> <Ago at={node.status_since} />
        </p>
      </Heading>
      {deletedAt !== null && (
        <p class="bar bad" role="alert">
          {NODE.deleted(exactly(deletedAt))} <a href={addressOf('nodes')}>{NODE.back}</a>
        </p>
      )}
      <div class="columns">
        <div class="main">
          <StatusDetails node={node} />
          {isThere && <Diagnosis live={live} node={node} />}
          {isThere && <Charts live={live} node={node} />}
          {isThere && <VpnPeers live={live} node={node} />}
          <History live={live} node={node} />
          <Executions live={live} node={node} />
          {isThere && <Reach node={node} user={users.value[0] ?? null} />}
        </div>
        <div class="aside">
          {isThere && <Actions live={live} fleet={fleet} node={node} />}
          <Identity node={node} />
          {isThere && (
            <>
              <Aliases live={live} node={node} />
              <Labels live={live} node={node} />
              <Groups live={live} node={node} />
              <Access live={live} node={node} onUsers={(names) => (users.value = names)} />
            </>
          )}
          {isThere && <SshSessions live={live} node={node} />}
          <Logins live={live} node={node} />
          <Recordings live={live} node={node} />
          <Machine node={node} />
          <Ports node={node} />
        </div>
      </div>
    </div>
  );
}
