/** One group: which nodes are meant, and who that is now. */
import { useMemo } from 'preact/hooks';
import type { GroupResource, TargetingPreviewResource } from '../../actors/resources/group.ts';
import { listStateOf } from '../lists/query.ts';
import { targetingText } from '../lists/targeting.ts';
import type { Live } from '../live.ts';
import { doneIfConfirmed } from '../parts/acts.tsx';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import { Status } from '../parts/status.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { useLead } from '../parts/there.ts';
import { addressOf } from '../routes.ts';
import { runAddress } from '../run/form.ts';
import { commandLine, curlLine } from '../shell-words.ts';
import { GROUPS } from '../texts/groups.ts';

const T = GROUPS.one;

type Member = TargetingPreviewResource['nodes'][number];

/** The page. `id`: its name. */
export function GroupPage({ live, id: name, search }: PageProps) {
  const state = useMemo(() => listStateOf(search, []), [search]);
  const lead = useLead();
  const polled = usePolled(() => live.api.get_group.query({ name }), name);
  const { data, failure } = polled.value;
  return (
    <>
      <Heading text={name}>
        {data !== null && (
          <>
            <p>
              <a href={runAddress({ place: 'group', group: name })}>{T.run}</a>
            </p>
            <button type="button" class="danger" onClick={() => void remove(live, name, lead)}>
              {T.remove}
            </button>
          </>
        )}
      </Heading>
      <Elsewhere
        cli={commandLine('edge group get', name)}
        curl={curlLine(location.origin, `/groups/${encodeURIComponent(name)}`)}
      />
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && (
        <>
          <Facts group={data} />
          <h2>{T.members}</h2>
          <PagedList
            label={T.members}
            state={state}
            address={(end) => addressOf('group', { id: name, search: end })}
            ask={() => membersOf(live.api, name)}
            idOf={(node) => node.id}
            detail={({ id }) => addressOf('node', { id })}
            columns={COLUMNS}
            empty={T.nobody}
          />
        </>
      )}
    </>
  );
}

/** The first of them, as the service names them: there is no second page. */
async function membersOf(api: Live['api'], group: string) {
  const { node_count: total, nodes } = await api.preview_targeting.query({ targeting: { type: 'group', group } });
  return { data: nodes, pagination: { page: 1, page_size: nodes.length, total_count: total, total_pages: 1 } };
}

const COLUMNS: readonly ListColumn<Member>[] = [
  { name: 'name', title: T.columns.name, cell: ({ name }) => <bdi>{name}</bdi> },
  { name: 'cluster', title: T.columns.cluster, cell: ({ cluster_name: cluster }) => cluster },
  { name: 'status', title: T.columns.status, cell: ({ status }) => <Status status={status} /> },
];

function Facts({ group }: { readonly group: GroupResource }) {
  return (
    <dl class="facts">
      <dt>{T.targets}</dt>
      <dd>
        <bdi>{targetingText(group.targeting)}</bdi>
      </dd>
      <dt>{T.description}</dt>
      <dd>{group.description === null ? T.noDescription : <bdi>{group.description}</bdi>}</dd>
      <dt>{T.created}</dt>
      <dd>
        <Ago at={group.inserted_at} />
      </dd>
    </dl>
  );
}

async function remove(live: Live, name: string, lead: (address: string) => void): Promise<void> {
  const isDone = await doneIfConfirmed(
    { title: T.removeTitle(name), text: T.removeText, name, action: T.remove },
    () => live.api.delete_group.mutate({ name }),
    T.removed(name),
  );
  if (isDone) lead(addressOf('groups'));
}
