/** What SSH sessions showed: all recordings, the newest first. */
import { useEffect } from 'preact/hooks';
import type { SshRecordingResource } from '../../../actors/resources/ssh.ts';
import type { Fleet } from '../../fleet/feed.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../../lists/parameters.ts';
import { listStateOf } from '../../lists/query.ts';
import { Ago } from '../../parts/ago.tsx';
import { Heading } from '../../parts/heading.tsx';
import { ListElsewhere } from '../../parts/list-elsewhere.tsx';
import { ListFilters } from '../../parts/list-filters.tsx';
import { useNamedNodes } from '../../parts/named-nodes-filter.ts';
import { PagedList, type ListColumn } from '../../parts/paged-list.tsx';
import type { PageProps } from '../../page-props.ts';
import { bytesOf, durationOf } from '../../quantities.ts';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { RECORDINGS as T } from '../../texts/recordings.ts';

const address = (search: string): string => addressOf('recordings', { search });

/** The list. */
export function RecordingsPage({ live, fleet, search }: PageProps) {
  useEffect(() => fleet.follow(null), [fleet]); // names of nodes
  void fleet.version.value;
  const state = listStateOf(search, LIST_FILTERS.recordings);
  const named = useNamedNodes(live, state);
  return (
    <>
      <Heading text={TEXTS.pages.recordings} />
      <p class="lead">{T.lead}</p>
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'username', label: T.user },
          { name: 'node_id__in', label: T.node },
        ]}
      />
      <ListElsewhere page="recordings" state={named.state} />
      <PagedList
        label={TEXTS.pages.recordings}
        state={state}
        address={address}
        ask={async () => live.api.list_ssh_recordings.query(LIST_PARAMETERS.recordings(await named.looked()))}
        idOf={({ id }) => id}
        detail={({ id }) => addressOf('recording', { id })}
        columns={columnsOf(fleet)}
        empty={T.empty}
      />
    </>
  );
}

function columnsOf(fleet: Fleet): readonly ListColumn<SshRecordingResource>[] {
  const { columns } = T;
  return [
    { name: 'user', title: columns.user, sort: 'username', cell: ({ username }) => <bdi>{username}</bdi> },
    {
      name: 'node',
      title: columns.node,
      cell: ({ node_id: node }) => (
        <a href={addressOf('node', { id: node })}>
          <bdi>{fleet.rows.get(node)?.name ?? node}</bdi>
        </a>
      ),
    },
    { name: 'wide', title: columns.command, cell: ({ command }) => <bdi>{command ?? T.shell}</bdi> },
    { name: 'started', title: columns.started, sort: 'started_at', cell: ({ started_at: at }) => <Ago at={at} /> },
    {
      name: 'length',
      title: columns.length,
      sort: 'duration_ms',
      cell: ({ duration_ms: ms }) => durationOf(ms / 1_000),
    },
    { name: 'size', title: columns.size, cell: ({ size_bytes: bytes }) => bytesOf(bytes) },
  ];
}
