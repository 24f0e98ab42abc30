/** Nodes that are not well: why, and what to do. */
import { useSignal } from '@preact/signals';
import { refusalOf } from '../../../api/client/client.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { nodesAddress, WHOLE_FLEET } from '../../fleet/query.ts';
import { remedyOf } from '../../fleet/remedy.ts';
import { latestOf } from '../../fleet/view.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
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
      <div class="scroll" role="region" aria-label={T.ill} tabIndex={0}>
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
                  <Remedy node={node} live={live} />
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

/** What its status says, and what the node itself says once it is asked. */
function Remedy({ node, live }: { readonly node: NodeResource; readonly live: Live }) {
  const answer = useSignal<'asking' | readonly string[] | null>(null);
  const remedy = remedyOf(node);
  if (remedy === null) return null;
  if (Array.isArray(answer.value))
    return (
      <ul class="remedies" role="status">
        {answer.value.map((hint) => (
          <li key={hint}>
            <bdi>{hint}</bdi>
          </li>
        ))}
      </ul>
    );
  const ask = async (): Promise<void> => {
    answer.value = 'asking';
    answer.value = await hintsOf(node, live);
  };
  return (
    <>
      {T.remedies[remedy]}{' '}
      {node.status === 'unhealthy' && (
        <button
          type="button"
          class="small"
          aria-label={T.diagnoseOf(node.name)}
          aria-disabled={answer.value === 'asking'}
          onClick={() => void ask()}
        >
          {answer.value === 'asking' ? T.diagnosing : T.diagnose}
        </button>
      )}
    </>
  );
}

/** What a diagnosis advises, each once. */
async function hintsOf({ id }: NodeResource, { api }: Live): Promise<readonly string[]> {
  try {
    const { checks } = await api.get_node_diagnostics.query({ id });
    const hints = checks.flatMap(({ hint }) => hint ?? []);
    return hints.length === 0 ? [T.noHint] : [...new Set(hints)];
  } catch (error) {
    return [refusalOf(error)?.message ?? T.notAsked];
  }
}
