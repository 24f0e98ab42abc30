/** All nodes, as they change. The whole filter stands in the address. */
import { useMemo, useRef } from 'preact/hooks';
import type { NodeResource } from '../../actors/resources/node.ts';
import { commandOf, leftOutOf, requestOf } from '../fleet/commands.ts';
import type { Fleet } from '../fleet/feed.ts';
import { nodeAddress, queryOf, WHOLE_FLEET, type NodesQuery } from '../fleet/query.ts';
import { NodesIndex, type NodesView } from '../fleet/view.ts';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Grid } from '../parts/grid.tsx';
import { Heading } from '../parts/heading.tsx';
import { State } from '../parts/state.tsx';
import type { PageProps } from '../page-props.ts';
import { go } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { FleetState } from './fleet-state.tsx';
import { BulkState } from './nodes/bulk.tsx';
import { ChosenNodes } from './nodes/chosen.tsx';
import { chosenOf } from './nodes/chosen-nodes.ts';
import { chosenColumns, columnsOf, ColumnsMenu } from './nodes/columns.tsx';
import { Filters, show } from './nodes/filters.tsx';
import { ViewsMenu } from './nodes/views.tsx';

const T = TEXTS.nodes;

const idOf = ({ id }: NodeResource): string => id;
const nameOf = ({ name }: NodeResource): string => name;
const open = ({ id }: NodeResource): void => go(nodeAddress(id));

/** The list, with its filters above it. */
export function NodesPage({ fleet, live, search }: PageProps) {
  const query = useMemo(() => queryOf(search), [search]);
  const view = useView(fleet, query);
  const columns = useMemo(() => columnsOf(query, chosenColumns.value), [query, chosenColumns.value]);
  const chosen = chosenOf(fleet);
  const left = leftOutOf(query);
  return (
    <div class="list">
      <Heading text={TEXTS.pages.nodes}>
        {fleet.rows.isWhole && <p class="soft">{T.shown(view.rows.length, view.total)}</p>}
        <div class="list-tools">
          <ViewsMenu query={query} />
          <ColumnsMenu />
        </div>
      </Heading>
      <Filters query={query} view={view} />
      <Elsewhere cli={commandOf(query)} curl={requestOf(query, location.origin)}>
        <p class="soft">
          {left.words && TEXTS.elsewhere.withoutWords} {left.versions && T.withoutVersions} {left.order && T.otherOrder}
        </p>
      </Elsewhere>
      <ChosenNodes fleet={fleet} live={live} shown={view.rows} />
      <BulkState fleet={fleet} />
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

/** What the query shows, kept from frame to frame: of 100,000 rows only those that changed are looked at. */
function useView({ rows, version }: Fleet, query: NodesQuery): NodesView {
  void version.value; // drawn anew as rows change
  const kept = useRef<{ readonly query: NodesQuery; readonly index: NodesIndex; position: number } | null>(null);
  const known = kept.current;
  if (known === null || known.query !== query) {
    const index = new NodesIndex(query, rows.values());
    kept.current = { query, index, position: rows.position };
    return index;
  }
  const changes = rows.changesSince(known.position);
  if (changes === null || !known.index.change(changes)) known.index.renew(rows.values());
  known.position = rows.position;
  return known.index;
}
