/** What ran on a node last, and what waits for it. */
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { outputAddress } from '../../lists/executions.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { toRow } from '../../parts/row-keys.ts';
import { usePolled } from '../../poll.ts';
import { NODE } from '../../texts/node.ts';
import { AllOf } from './all-of.tsx';
import { Section } from './section.tsx';

/** Executions that are shown. */
const EXECUTIONS_MAX = 10;

const T = NODE.executions;

/** The latest first. */
export function Executions({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const polled = usePolled(() =>
    live.api.list_command_executions.query({ node_id__in: [node.id], page_size: EXECUTIONS_MAX }),
  ).value;
  const count = polled.data?.pagination.total_count ?? 0;
  return (
    <Section
      id="executions"
      title={T.title}
      beside={<AllOf page="executions" node={node.id} count={count} all={T.all} />}
    >
      {(polled.data === null || polled.failure !== null) && <Asked polled={polled} />}
      {polled.data?.data.length === 0 && <p class="soft">{T.none}</p>}
      {polled.data !== null && polled.data.data.length > 0 && (
        <>
          <div class="scroll" role="region" aria-label={T.table} tabIndex={0} onKeyDown={toRow}>
            <table class="executions">
              <thead>
                <tr>
                  {Object.entries(T.columns).map(([column, title]) => (
                    <th key={column} scope="col" class={column === 'exit' ? 'number' : column}>
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {polled.data.data.map((one) => (
                  <tr key={one.id}>
                    <th scope="row" class="text">
                      <CommandText execution={one} />
                    </th>
                    <td>{one.status}</td>
                    <td class={`number ${one.exit_code === null || one.exit_code === 0 ? '' : 'bad'}`}>
                      {one.exit_code}
                    </td>
                    <td>
                      <Ago at={one.completed_at ?? one.cancelled_at ?? one.sent_at ?? one.inserted_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Section>
  );
}

/** Its first line, which leads to what this node said. */
function CommandText({ execution }: { readonly execution: ExecutionResource }) {
  const [line = ''] = execution.command_text.trim().split('\n', 1);
  return (
    <a href={outputAddress(execution)}>
      <code>
        <bdi>{line}</bdi>
      </code>
    </a>
  );
}
