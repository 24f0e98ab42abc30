/** How the fleet is, at a glance. Each number leads to the list behind it. */
import { useMemo } from 'preact/hooks';
import type { NodeStatus } from '../../actors/resources/node.ts';
import type { OverviewResource } from '../../actors/resources/overview.ts';
import { nowMs } from '../clock.ts';
import type { Fleet } from '../fleet/feed.ts';
import { nodesAddress, STATUSES, WHOLE_FLEET } from '../fleet/query.ts';
import { FleetTotals, type StatusTotal } from '../fleet/totals.ts';
import type { Live } from '../live.ts';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled, type Polled } from '../poll.ts';
import { curlLine } from '../shell-words.ts';
import { TEXTS } from '../texts.ts';
import { FleetState } from './fleet-state.tsx';
import { IllNodes } from './overview/ill-nodes.tsx';
import { Admins, Health } from './overview/service.tsx';
import { Tile } from './overview/tile.tsx';
import { Troubles } from './overview/troubles.tsx';
import { Work } from './overview/work.tsx';

/** What has changed within this time is news, in ms. */
const RECENT_MS = 3_600_000;

const T = TEXTS.overview;

/** The first page. */
export function OverviewPage({ live, fleet }: PageProps) {
  const overview = usePolled(() => live.api.get_overview.query({}));
  return (
    <>
      <Heading text={TEXTS.pages.overview} />
      <Elsewhere cli="edge status" curl={curlLine(location.origin, '/overview')} />
      <Nodes live={live} fleet={fleet} polled={overview.value} />
      <Work polled={overview.value} fleet={fleet} />
      <Troubles polled={overview.value} />
      <Admins polled={overview.value} />
      <Health live={live} />
    </>
  );
}

interface NodesProps {
  readonly live: Live;
  readonly fleet: Fleet;
  readonly polled: Polled<OverviewResource>;
}

/** Counted here, as they change; those that are too many to follow by the service. */
function Nodes({ live, fleet, polled }: NodesProps) {
  void fleet.version.value; // drawn anew as rows change
  const kept = useMemo(() => new FleetTotals(fleet.rows, RECENT_MS), [fleet]);
  return (
    <section aria-labelledby="nodes">
      <h2 id="nodes">{T.nodes}</h2>
      {fleet.problem.value?.kind === 'too-many' && <Counts totals={polled.data?.node_totals ?? null} />}
      <FleetState fleet={fleet} cluster={null}>
        {() => {
          const { totals, ill } = kept.at(nowMs.value);
          return (
            <>
              <Counts totals={totals} />
              <h3>{T.ill}</h3>
              {ill.size === 0 ? <p class="well">{T.well}</p> : <IllNodes nodes={ill} live={live} />}
            </>
          );
        }}
      </FleetState>
    </section>
  );
}

/** The tiles. Null: nobody has counted. */
function Counts({ totals }: { readonly totals: Readonly<Record<NodeStatus, StatusTotal>> | null }) {
  const all = totals === null ? null : STATUSES.reduce((sum, status) => sum + totals[status].count, 0);
  return (
    <ul class="tiles">
      <Tile to={nodesAddress(WHOLE_FLEET)} count={all} name={T.all} />
      {STATUSES.map((status) => {
        const { count, recent } = totals?.[status] ?? { count: null, recent: null };
        return (
          <Tile
            key={status}
            to={nodesAddress({ ...WHOLE_FLEET, statuses: [status] })}
            count={count}
            name={TEXTS.statuses[status]}
            kind={(count ?? 0) > 0 ? status : ''}
            more={recent === null ? undefined : T.recent(recent)}
          />
        );
      })}
    </ul>
  );
}
