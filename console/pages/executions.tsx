/** What ran where: all executions, the newest first. */
import { EXECUTION_STATUS_WORDS, RUN } from '../texts/run.ts';
import type { ExecutionResource } from '../../actors/resources/command.ts';
import type { Fleet } from '../fleet/feed.ts';
import { useEffect } from 'preact/hooks';
import { OPEN_STATUSES, outputAddress } from '../lists/executions.ts';
import { LIST_FILTERS, LIST_PARAMETERS } from '../lists/parameters.ts';
import { listStateOf } from '../lists/query.ts';
import type { PageProps } from '../page-props.ts';
import { Ago } from '../parts/ago.tsx';
import { Heading } from '../parts/heading.tsx';
import { ListElsewhere } from '../parts/list-elsewhere.tsx';
import { ListFilters } from '../parts/list-filters.tsx';
import { useNamedNodes } from '../parts/named-nodes-filter.ts';
import { PagedList, type ListColumn } from '../parts/paged-list.tsx';
import { Result } from '../parts/result.tsx';
import { addressOf } from '../routes.ts';
import { plainTextOf } from '../run/ansi.ts';
import { resultOf } from '../run/grouping.ts';
import { TEXTS } from '../texts.ts';

const T = RUN.executions;

/** Characters of an output that stand in the list. */
const SHOWN_CHARACTERS = 160;

const STATUSES = [[OPEN_STATUSES, T.inFlight], ...EXECUTION_STATUS_WORDS] as const;

const ENDINGS = [['1', T.failed]] as const;

const address = (search: string): string => addressOf('executions', { search });

/** The list, with filters as the API has them. */
export function ExecutionsPage({ live, fleet, search }: PageProps) {
  useEffect(() => fleet.follow(null), [fleet]); // names of nodes
  void fleet.version.value;
  const state = listStateOf(search, LIST_FILTERS.executions);
  const named = useNamedNodes(live, state);
  return (
    <>
      <Heading text={TEXTS.pages.executions} />
      <ListFilters
        state={state}
        address={address}
        filters={[
          { name: 'output', label: T.filters.output },
          { name: 'status__in', label: T.filters.status, options: STATUSES },
          { name: 'exit_code__gte', label: T.filters.ending, options: ENDINGS },
          { name: 'exit_code', label: T.filters.exit },
          { name: 'completed_at__gte', label: T.filters.completedSince, isInstant: true },
          { name: 'completed_at__lte', label: T.filters.completedUntil, isInstant: true },
          { name: 'cluster_name', label: T.filters.cluster },
          { name: 'node_id__in', label: T.filters.node },
          { name: 'command_id__in', label: T.filters.command },
        ]}
      />
      <PagedList
        label={TEXTS.pages.executions}
        state={state}
        address={address}
        // what is no number or no id is refused in the service's words
        ask={async () => live.api.list_command_executions.query(LIST_PARAMETERS.executions(await named.looked()))}
        idOf={({ id }) => id}
        columns={columnsOf(fleet)}
        detail={outputAddress}
        empty={T.empty}
        emptyNext={<a href={addressOf('run')}>{RUN.commands.emptyNext}</a>}
      />
      <ListElsewhere page="executions" state={named.state} />
    </>
  );
}

function columnsOf(fleet: Fleet): readonly ListColumn<ExecutionResource>[] {
  return [
    {
      name: 'command',
      title: T.columns.command,
      cell: ({ command_text: text }) => (
        <bdi class="mono clipped">{text.trim().split('\n', 1)[0]?.slice(0, SHOWN_CHARACTERS)}</bdi>
      ),
    },
    { name: 'node', title: T.columns.node, cell: ({ node_id: id }) => <bdi>{fleet.rows.get(id)?.name ?? id}</bdi> },
    {
      name: 'result',
      title: T.columns.result,
      sort: 'status',
      cell: (one) => <Result kind={resultOf(one)} exitCode={one.exit_code} />,
    },
    { name: 'cluster', title: T.columns.cluster, sort: 'cluster_name', cell: ({ cluster_name: name }) => name },
    { name: 'output', title: T.columns.output, cell: (one) => <Said execution={one} /> },
    { name: 'created', title: T.columns.created, sort: 'inserted_at', cell: ({ inserted_at: at }) => <Ago at={at} /> },
    {
      name: 'completed',
      title: T.columns.completed,
      sort: 'completed_at',
      cell: ({ completed_at: at }) => at !== null && <Ago at={at} />,
    },
  ];
}

function Said({ execution: { output, output_withheld: isWithheld } }: { readonly execution: ExecutionResource }) {
  if (isWithheld) return <span class="soft">{T.withheld}</span>;
  const line = plainTextOf((output ?? '').slice(0, 4 * SHOWN_CHARACTERS))
    .trim()
    .split('\n', 1)[0];
  return <bdi class="mono clipped">{line?.slice(0, SHOWN_CHARACTERS)}</bdi>;
}
