/** How the fleet is, at a glance. Each number leads to the list behind it. */
import type { NodeResource } from '../../actors/resources/node.ts';
import { nowMs } from '../clock.ts';
import type { Fleet } from '../fleet/feed.ts';
import { nodesAddress, STATUSES, WHOLE_FLEET, type NodesQuery } from '../fleet/query.ts';
import { statusCounts } from '../fleet/view.ts';
import type { Live } from '../live.ts';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { Heading } from '../parts/heading.tsx';
import { Status } from '../parts/status.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { TEXTS } from '../texts.ts';
import { FleetState } from './fleet-state.tsx';

/** What has changed within this time is news, in ms. */
const RECENT_MS = 3_600_000;

/** Nodes that are not well and stand here by name; the list has all. */
const ILL_MAX = 8;

/** Admins that stand here by name. */
const ADMINS_MAX = 20;

const T = TEXTS.overview;

/** The first page. */
export function OverviewPage({ live, fleet }: PageProps) {
  return (
    <>
      <Heading text={TEXTS.pages.overview} />
      <Nodes fleet={fleet} />
      <Admins live={live} />
      <Health live={live} />
    </>
  );
}

function Nodes({ fleet }: { readonly fleet: Fleet }) {
  void fleet.version.value; // drawn anew as rows change
  return (
    <section aria-labelledby="nodes">
      <h2 id="nodes">{T.nodes}</h2>
      <FleetState fleet={fleet} cluster={null}>
        {() => {
          const counts = statusCounts(fleet.rows.values(), nowMs.value, RECENT_MS);
          const ill = [...fleet.rows.values()].filter(({ status }) => status !== 'healthy');
          return (
            <>
              <ul class="tiles">
                <li>
                  <Tile to={WHOLE_FLEET} count={fleet.rows.size} name={T.all} />
                </li>
                {STATUSES.map((status) => (
                  <li key={status}>
                    <Tile
                      to={{ ...WHOLE_FLEET, statuses: [status] }}
                      count={counts[status].count}
                      name={TEXTS.statuses[status]}
                      kind={counts[status].count > 0 ? status : ''}
                      more={T.recent(counts[status].recent)}
                    />
                  </li>
                ))}
              </ul>
              <h3>{T.ill}</h3>
              {ill.length === 0 ? <p class="soft">{T.well}</p> : <Ill nodes={ill} />}
            </>
          );
        }}
      </FleetState>
    </section>
  );
}

interface TileProps {
  readonly to: NodesQuery;
  readonly count: number;
  readonly name: string;
  readonly kind?: string;
  readonly more?: string;
}

function Tile({ to, count, name, kind = '', more }: TileProps) {
  return (
    <a class={`tile ${kind}`} href={nodesAddress(to)}>
      <span class="count">{count.toLocaleString('en')}</span> <span class="name">{name}</span>
      {more !== undefined && <span class="soft">{more}</span>}
    </a>
  );
}

/** The latest first: what has just broken is what one wants to know. */
function Ill({ nodes }: { readonly nodes: readonly NodeResource[] }) {
  const latest = nodes
    .toSorted((one, other) => Date.parse(other.status_since) - Date.parse(one.status_since))
    .slice(0, ILL_MAX);
  const all: NodesQuery = { ...WHOLE_FLEET, statuses: ['unreachable', 'unhealthy'], sort: 'since', isDescending: true };
  return (
    <>
      <div class="scroll" role="region" aria-label={T.ill} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {Object.entries(T.columns).map(([column, title]) => (
                <th key={column} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {latest.map((node) => (
              <tr key={node.id}>
                <th scope="row">
                  <bdi>{node.name}</bdi>
                </th>
                <td>{node.cluster_name}</td>
                <td>
                  <Status status={node.status} />
                </td>
                <td>
                  <Ago at={node.status_since} />
                </td>
                <td>
                  <bdi>{node.status_reason}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {nodes.length > ILL_MAX && <a href={nodesAddress(all)}>{T.illAll(nodes.length)}</a>}
    </>
  );
}

function Admins({ live }: { readonly live: Live }) {
  const admins = usePolled(() => live.api.list_admins.query({ page_size: ADMINS_MAX }));
  const { data } = admins.value;
  return (
    <section aria-labelledby="admins">
      <h2 id="admins">{T.admins}</h2>
      <Asked polled={admins.value} text={T.notAsked} />
      {data !== null && (
        <div class="scroll" role="group" aria-label={T.admins} tabIndex={0}>
          <table>
            <thead>
              <tr>
                {Object.entries(T.adminColumns).map(([column, title]) => (
                  <th key={column} scope="col" class={column}>
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.data.map(({ id, name, status, cluster_count: clusters, node_count: nodes, room, version }) => (
                <tr key={id}>
                  <th scope="row">{name}</th>
                  <td>
                    <span class={`status ${status}`}>{status}</span>
                  </td>
                  <td class="number">{clusters}</td>
                  <td class="number">{nodes}</td>
                  <td class="number">{room.toLocaleString('en')}</td>
                  <td>{version}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Health({ live }: { readonly live: Live }) {
  const health = usePolled(() => live.api.check_admin_health.query({}));
  const { data } = health.value;
  const failed = data?.checks.filter(({ healthy }) => !healthy) ?? [];
  return (
    <section aria-labelledby="health">
      <h2 id="health">{T.health}</h2>
      <Asked polled={health.value} text={T.notAsked} />
      {data !== null && failed.length === 0 && <p class="well">{T.healthy(data.checks.length)}</p>}
      {data !== null && failed.length > 0 && (
        <>
          <p class="ill">{T.unhealthy(failed.length, data.checks.length)}</p>
          <ul>
            {failed.map(({ name, error }) => (
              <li key={name}>
                <code>{name}</code> {error}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
