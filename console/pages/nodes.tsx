/** All nodes, as they change. The whole filter stands in the address. */
import { useMemo } from 'preact/hooks';
import type { NodeResource } from '../../actors/resources/node.ts';
import { commandOf, requestOf } from '../fleet/commands.ts';
import {
  isFiltered,
  nodeAddress,
  nodesAddress,
  queryOf,
  sortedBy,
  STATUSES,
  TEXT_CHARACTERS_MAX,
  toggled,
  WHOLE_FLEET,
  type NodesQuery,
  type SortField,
} from '../fleet/query.ts';
import { matchedBy, viewOf, type NodesView } from '../fleet/view.ts';
import { Ago } from '../parts/ago.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Grid, type Column } from '../parts/grid.tsx';
import { Heading } from '../parts/heading.tsx';
import { State } from '../parts/state.tsx';
import { Status } from '../parts/status.tsx';
import type { PageProps } from '../page-props.ts';
import { go } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { FleetState } from './fleet-state.tsx';
import { ChosenNodes, chosenOf } from './nodes/chosen.tsx';

const T = TEXTS.nodes;

const idOf = ({ id }: NodeResource): string => id;
const nameOf = ({ name }: NodeResource): string => name;
const open = ({ id }: NodeResource): void => go(nodeAddress(id));

/** The list, with its filters above it. */
export function NodesPage({ fleet, search }: PageProps) {
  const query = useMemo(() => queryOf(search), [search]);
  const version = fleet.version.value;
  const view = useMemo(() => viewOf(fleet.rows.values(), query), [fleet, version, query]);
  const columns = useMemo(() => columnsOf(query), [query]);
  const chosen = chosenOf(fleet);
  return (
    <div class="list">
      <Heading text={TEXTS.pages.nodes}>
        {fleet.rows.isWhole && <p class="soft">{T.shown(view.rows.length, view.total)}</p>}
      </Heading>
      <Filters query={query} view={view} />
      <InTerminal query={query} />
      <ChosenNodes chosen={chosen} shown={view.rows} />
      <FleetState fleet={fleet} cluster={query.cluster}>
        {() =>
          view.rows.length === 0 ? (
            <State text={T.none}>
              <button type="button" onClick={() => show({ ...WHOLE_FLEET, sort: query.sort })}>
                {T.clear}
              </button>
            </State>
          ) : (
            <Grid
              label={TEXTS.pages.nodes}
              rows={view.rows}
              idOf={idOf}
              nameOf={nameOf}
              columns={columns}
              chosen={chosen}
              onOpen={open}
            />
          )
        }
      </FleetState>
    </div>
  );
}

function show(query: NodesQuery, isTyped = false): void {
  go(nodesAddress(query), { isTyped });
}

function Filters({ query, view }: { readonly query: NodesQuery; readonly view: NodesView }) {
  return (
    <div class="filters" role="search">
      <label class="search">
        <span>{T.search}</span>
        <input
          type="search"
          value={query.text}
          maxLength={TEXT_CHARACTERS_MAX}
          placeholder={T.searchHint}
          aria-keyshortcuts="/"
          onInput={({ currentTarget }) => show({ ...query, text: currentTarget.value }, true)}
          onKeyDown={({ key, currentTarget }) => {
            if (key === 'Escape' || key === 'Enter') currentTarget.blur();
            if (key === 'Enter') document.querySelector<HTMLElement>('[role=grid]')?.focus();
          }}
        />
      </label>
      <label>
        <span>{T.cluster}</span>
        <Clusters query={query} view={view} />
      </label>
      <div class="chips" role="group" aria-label={T.columns.status}>
        {STATUSES.map((status) => (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={query.statuses.includes(status)}
            onClick={() => show(toggled(query, status))}
          >
            <Status status={status} /> <span class="number">{view.byStatus[status].toLocaleString('en')}</span>
          </button>
        ))}
        {isFiltered(query) && (
          <button type="button" onClick={() => show({ ...WHOLE_FLEET, sort: query.sort })}>
            {T.clear}
          </button>
        )}
      </div>
    </div>
  );
}

/** The same list elsewhere. */
function InTerminal({ query }: { readonly query: NodesQuery }) {
  return (
    <Elsewhere cli={commandOf(query)} curl={requestOf(query, location.origin)}>
      {query.text !== '' && <p class="soft">{T.withoutWords}</p>}
    </Elsewhere>
  );
}

/** One that no node is in any more stays to be seen as long as it is asked for. */
function Clusters({ query, view }: { readonly query: NodesQuery; readonly view: NodesView }) {
  const isGone = query.cluster !== null && view.byCluster.every(([name]) => name !== query.cluster);
  const options = isGone ? [...view.byCluster, [query.cluster ?? '', 0] as const] : view.byCluster;
  return (
    <select
      value={query.cluster ?? ''}
      onChange={({ currentTarget }) => show({ ...query, cluster: currentTarget.value || null })}
    >
      <option value="">{T.allClusters(view.byCluster.length)}</option>
      {options.map(([name, count]) => (
        <option key={name} value={name}>
          {name} ({count})
        </option>
      ))}
    </select>
  );
}

/** Texts of machines stand in `bdi`: marks that turn the direction of writing turn nothing beside them. */
function columnsOf(query: NodesQuery): readonly Column<NodeResource>[] {
  const sort = (field: SortField): NonNullable<Column<NodeResource>['sort']> => ({
    direction: query.sort !== field ? 'none' : query.isDescending ? 'descending' : 'ascending',
    by: () => show(sortedBy(query, field)),
  });
  const { columns } = T;
  return [
    {
      name: 'name',
      title: columns.name,
      sort: sort('name'),
      cell: (node) => <Name node={node} text={query.text} />,
      minPx: 144,
      grow: 2,
    },
    {
      name: 'status',
      title: columns.status,
      sort: sort('status'),
      cell: ({ status }) => <Status status={status} />,
      minPx: 128,
      grow: 0,
    },
    {
      name: 'since',
      title: columns.since,
      sort: sort('since'),
      cell: (node) => <Ago at={node.status_since} />,
      minPx: 80,
      grow: 0,
      fromPx: 544,
    },
    {
      name: 'cluster',
      title: columns.cluster,
      sort: sort('cluster'),
      cell: (node) => node.cluster_name,
      fromPx: 544,
    },
    {
      name: 'version',
      title: columns.version,
      sort: sort('version'),
      cell: (node) => <bdi>{node.version}</bdi>,
      grow: 0,
      fromPx: 900,
    },
    {
      name: 'why',
      title: columns.why,
      cell: (node) => <Why reason={node.status_reason} />,
      minPx: 128,
      grow: 3,
      fromPx: 900,
    },
  ];
}

function Name({ node, text }: { readonly node: NodeResource; readonly text: string }) {
  const matched = text === '' ? null : matchedBy(node, text);
  return (
    <>
      <a href={nodeAddress(node.id)} tabIndex={-1}>
        <bdi title={node.name}>{node.name}</bdi>
      </a>
      {matched !== null && (
        <small>
          <bdi>{T.matched(matched)}</bdi>
        </small>
      )}
    </>
  );
}

function Why({ reason }: { readonly reason: string | null }) {
  return reason === null ? null : <bdi title={reason}>{reason}</bdi>;
}
