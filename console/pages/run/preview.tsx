/** Whom the form reaches now: how many, and who. Asked again while it is seen, as nodes come and go. */
import type { Live } from '../../live.ts';
import { Asked } from '../../parts/asked.tsx';
import { Status } from '../../parts/status.tsx';
import { usePolled } from '../../poll.ts';
import { targetingOf, type KnownNodes, type RunForm } from '../../run/form.ts';
import { RUN } from '../../texts/run.ts';

/**
 * Nodes that stand by name beside the form, each 10 s anew; of more, all are named in the question before it is sent.
 */
const LISTED_NODES_MAX = 1_000;

const T = RUN.preview;

/** The count, and the list as far as the service tells it. */
export function Preview({
  live,
  form,
  known,
}: {
  readonly live: Live;
  readonly form: RunForm;
  readonly known: KnownNodes;
}) {
  const targeting = targetingOf(form, known);
  const key = JSON.stringify(targeting);
  const polled = usePolled(
    async () =>
      typeof targeting === 'string'
        ? null
        : live.api.preview_targeting.query({ targeting, max_nodes: LISTED_NODES_MAX }),
    key,
  );
  const { data, isOld, failure } = polled.value;
  const away = data?.nodes.filter(({ status }) => status === 'unreachable').length ?? 0;
  return (
    <section class="run-preview" aria-labelledby="run-nodes" aria-busy={isOld}>
      <h2 id="run-nodes">{T.title}</h2>
      {typeof targeting === 'string' ? (
        <p class="soft">{targeting === 'many' ? RUN.form.wrong.many : T.choose}</p>
      ) : (
        <>
          {failure !== null && <Asked polled={polled.value} text="" />}
          {data !== null && failure === null && (
            <>
              <p class="count" role="status">
                {data.node_count === 0 ? T.none : T.count(data.node_count)}
              </p>
              {data.nodes.length > 0 && (
                <ul tabIndex={0} aria-labelledby="run-nodes">
                  {data.nodes.map(({ id, name, cluster_name: cluster, status }) => (
                    <li key={id}>
                      <bdi>{name}</bdi> <span class="soft">{cluster}</span> <Status status={status} />
                    </li>
                  ))}
                  {data.node_count > data.nodes.length && (
                    <li class="soft">{T.more(data.node_count - data.nodes.length)}</li>
                  )}
                </ul>
              )}
              {away > 0 && <p class="soft">{T.away(away, data.node_count > data.nodes.length)}</p>}
            </>
          )}
        </>
      )}
    </section>
  );
}
