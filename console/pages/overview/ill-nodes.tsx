/** Nodes that are not well: why, and what to do. */
import { useSignal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { nodesAddress, WHOLE_FLEET } from '../../fleet/query.ts';
import { diagnosedBy, illnessOf, remedyOf, type Diagnosed } from '../../fleet/remedy.ts';
import { latestOf } from '../../fleet/view.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { toRow } from '../../parts/row-keys.ts';
import { Status } from '../../parts/status.tsx';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';

/** Nodes that stand here by name; the list has all. */
const ILL_MAX = 8;

const T = TEXTS.overview;

/** The latest first: what has just broken is what one wants to know. */
export function IllNodes({ nodes, live }: { readonly nodes: ReadonlyMap<string, NodeResource>; readonly live: Live }) {
  const latest = latestOf(nodes.values(), ILL_MAX);
  const all = nodesAddress({
    ...WHOLE_FLEET,
    statuses: ['unreachable', 'unhealthy'],
    sort: 'since',
    isDescending: true,
  });
  return (
    <>
      <div class="scroll" role="region" aria-label={T.ill} tabIndex={0} onKeyDown={toRow}>
        <table class="ill-nodes">
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
                  <a href={addressOf('node', { id: node.id })}>
                    <bdi>{node.name}</bdi>
                  </a>
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
                <td>
                  <Remedy key={illnessOf(node)} node={node} live={live} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {nodes.size > ILL_MAX && <a href={all}>{T.illAll(nodes.size)}</a>}
    </>
  );
}

/** What its status says, and what the node itself says of it once it is asked; where it could not be, again. */
function Remedy({ node, live }: { readonly node: NodeResource; readonly live: Live }) {
  const answer = useSignal<'asking' | Diagnosed | null>(null);
  const remedy = remedyOf(node);
  if (remedy === null) return null;
  const isAsking = answer.value === 'asking';
  const diagnosed = answer.value === 'asking' ? null : answer.value;
  const ask = async (): Promise<void> => {
    if (isAsking) return;
    answer.value = 'asking';
    answer.value = await diagnosedBy(() => live.api.get_node_diagnostics.query({ id: node.id }), T);
  };
  return (
    <>
      {diagnosed === null ? (
        T.remedies[remedy]
      ) : (
        <ul class="remedies" role="status">
          {diagnosed.lines.map((line) => (
            <li key={line}>
              <bdi>{line}</bdi>
            </li>
          ))}
        </ul>
      )}{' '}
      {node.status === 'unhealthy' && diagnosed?.isAnswer !== true && (
        <button
          type="button"
          class="small"
          aria-label={T.diagnoseOf(node.name)}
          aria-disabled={isAsking}
          onClick={() => void ask()}
        >
          {isAsking ? T.diagnosing : T.diagnose}
        </button>
      )}
    </>
  );
}
