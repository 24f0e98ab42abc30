/** What stands in the columns of the list of nodes, and which of them somebody chose. */
import { signal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { COLUMNS, columnsIn, DEFAULT_COLUMNS, withEarlier, withToggled, type ColumnName } from '../../fleet/columns.ts';
import { isFiltered, nodeAddress, nodesAddress, sortedBy, type NodesQuery, type SortField } from '../../fleet/query.ts';
import { matchedBy } from '../../fleet/matching.ts';
import { keep, readKept } from '../../kept.ts';
import { Ago } from '../../parts/ago.tsx';
import type { Column } from '../../parts/grid.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Status } from '../../parts/status.tsx';
import { go } from '../../router.ts';
import { TEXTS } from '../../texts.ts';

const T = TEXTS.nodes;

const KEPT_AS = 'edge-console-node-columns';

/** What somebody chose in this browser; null: nothing, and narrow windows leave some out. */
export const chosenColumns = signal<readonly ColumnName[] | null>(columnsIn(readKept(KEPT_AS)));

function choose(columns: readonly ColumnName[] | null): void {
  chosenColumns.value = columns;
  keep(KEPT_AS, columns);
}

type Drawn = Omit<Column<NodeResource>, 'name' | 'title' | 'sort'> & { readonly sort?: SortField };

/** Texts of machines stand in `bdi`: marks that turn the direction of writing turn nothing beside them. */
const DRAWN: Readonly<Record<ColumnName, Drawn>> = {
  status: { sort: 'status', cell: ({ status }) => <Status status={status} />, minPx: 144, grow: 0 },
  since: { sort: 'since', cell: (node) => <Ago at={node.status_since} />, minPx: 80, grow: 0, fromPx: 544 },
  cluster: { sort: 'cluster', cell: ({ cluster_name: cluster }) => <bdi>{cluster}</bdi>, fromPx: 544 },
  version: { sort: 'version', cell: ({ version }) => <bdi>{version}</bdi>, grow: 0, fromPx: 900 },
  labels: { cell: (node) => <Labels labels={node.labels} />, minPx: 144, grow: 2, fromPx: 1_100 },
  aliases: { cell: ({ aliases }) => <bdi>{aliases.map(({ name }) => name).join(', ')}</bdi> },
  os: { cell: ({ facts }) => <bdi>{facts === null ? '' : `${facts.os} ${facts.os_version ?? ''}`}</bdi> },
  arch: { cell: ({ facts }) => <bdi>{facts?.arch}</bdi>, grow: 0 },
  seen: { cell: ({ last_seen_at: at }) => (at === null ? null : <Ago at={at} />), grow: 0 },
  id: { cell: ({ id }) => <code>{id.slice(0, 8)}</code>, minPx: 120, grow: 0 },
  why: {
    cell: ({ status_reason: reason }) => reason !== null && <bdi title={reason}>{reason}</bdi>,
    minPx: 128,
    grow: 3,
    fromPx: 900,
  },
};

/** The name, and those that are chosen. */
export function columnsOf(query: NodesQuery, chosen: readonly ColumnName[] | null): readonly Column<NodeResource>[] {
  const sort = (field: SortField): NonNullable<Column<NodeResource>['sort']> => ({
    direction: query.sort !== field ? 'none' : query.isDescending ? 'descending' : 'ascending',
    by: () => go(nodesAddress(sortedBy(query, field))),
  });
  const isPlain = !isFiltered(query);
  const name: Column<NodeResource> = {
    name: 'name',
    title: T.columns.name,
    sort: sort('name'),
    cell: (node, drawn) => <Name node={node} matched={isPlain ? [] : matchedBy(node, query, namesOf(drawn))} />,
    minPx: 144,
    grow: 2,
  };
  const others = (chosen ?? DEFAULT_COLUMNS).map((column): Column<NodeResource> => {
    const { sort: field, fromPx, ...drawn } = DRAWN[column];
    return {
      ...drawn,
      name: column,
      title: T.columns[column],
      ...(field !== undefined && { sort: sort(field) }),
      ...(fromPx !== undefined && chosen === null && { fromPx }),
    };
  });
  return [name, ...others];
}

const namesOf = (columns: readonly Column<NodeResource>[]): readonly string[] => columns.map(({ name }) => name);

function Name({ node, matched }: { readonly node: NodeResource; readonly matched: readonly string[] }) {
  return (
    <>
      <a href={nodeAddress(node.id)} tabIndex={-1}>
        <bdi title={node.name}>{node.name}</bdi>
      </a>
      {matched.length > 0 && (
        <small title={matched.join('\n')}>
          <bdi>{T.matched(matched.join(', '))}</bdi>
        </small>
      )}
    </>
  );
}

/** As many as fit; all of them are told when one points at it. */
function Labels({ labels }: { readonly labels: NodeResource['labels'] }) {
  const pairs = Object.entries(labels).map(([key, value]) => (value === '' ? key : `${key}=${value}`));
  return (
    <span class="label-list" title={pairs.join('\n')}>
      {pairs.map((pair) => (
        <bdi key={pair}>{pair}</bdi>
      ))}
    </span>
  );
}

/** Which columns, in which order. */
export function ColumnsMenu() {
  const columns = chosenColumns.value ?? DEFAULT_COLUMNS;
  const others = COLUMNS.filter((name) => !columns.includes(name));
  return (
    <Menu title={T.columnsMenu} label={T.columnsMenu}>
      {() => (
        <>
          <ul class="choice-list">
            {[...columns, ...others].map((name) => (
              <li key={name}>
                <label>
                  <input
                    type="checkbox"
                    checked={columns.includes(name)}
                    onChange={() => choose(withToggled(columns, name))}
                  />
                  {T.columns[name]}
                </label>
                {columns.indexOf(name) > 0 && (
                  <button
                    type="button"
                    class="icon"
                    aria-label={T.columnEarlier(T.columns[name])}
                    onClick={() => choose(withEarlier(columns, name))}
                  >
                    ↑
                  </button>
                )}
              </li>
            ))}
          </ul>
          <button type="button" disabled={chosenColumns.value === null} onClick={() => choose(null)}>
            {T.columnsDefault}
          </button>
        </>
      )}
    </Menu>
  );
}
