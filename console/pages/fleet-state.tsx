/** What stands in place of nodes as long as there are none to show, and why. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Fleet } from '../fleet/feed.ts';
import { nodesAddress, WHOLE_FLEET } from '../fleet/query.ts';
import { Asked } from '../parts/asked.tsx';
import { State } from '../parts/state.tsx';
import { usePolled } from '../poll.ts';
import { TEXTS } from '../texts.ts';

/** `children` draw the nodes, once there are some. `cluster`: the one that is followed where all are too many. */
export function FleetState({
  fleet,
  cluster,
  children,
}: {
  readonly fleet: Fleet;
  readonly cluster: string | null;
  readonly children: () => ComponentChildren;
}) {
  useEffect(() => fleet.follow(cluster), [fleet, cluster, fleet.problem.value?.kind === 'too-many']);
  const problem = fleet.problem.value;
  if (problem?.kind === 'too-many') return <ChooseCluster fleet={fleet} />;
  if (problem?.kind === 'refused')
    return (
      <State kind="failed" text={`${TEXTS.states.failed} ${problem.message}`}>
        <button type="button" onClick={() => fleet.follow(cluster)}>
          {TEXTS.states.again}
        </button>
      </State>
    );
  if (!fleet.rows.isWhole) {
    const { known, total } = fleet.rows.progress ?? { known: 0, total: 0 };
    return <State kind="loading" text={total === 0 ? TEXTS.states.loading : TEXTS.nodes.loading(known, total)} />;
  }
  if (fleet.rows.size === 0)
    return (
      <State text={TEXTS.overview.empty}>
        <a href="/guide/nodes">{TEXTS.overview.emptyNext}</a>
      </State>
    );
  return <>{children()}</>;
}

/** Where all nodes are more than a page can follow: one cluster at a time can be, and all once there are fewer. */
function ChooseCluster({ fleet }: { readonly fleet: Fleet }) {
  const names = usePolled(() => fleet.clusterNames());
  return (
    <State text={TEXTS.nodes.tooMany}>
      <Asked polled={names.value} />
      <ul class="choices" aria-label={TEXTS.nodes.chooseCluster}>
        {names.value.data?.map((cluster) => (
          <li key={cluster}>
            <a href={nodesAddress({ ...WHOLE_FLEET, cluster })}>{cluster}</a>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => fleet.follow(null, true)}>
        {TEXTS.nodes.followAll}
      </button>
    </State>
  );
}
