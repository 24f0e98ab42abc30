/** What ran on a node last, and what waits for it. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { NODE } from '../../texts/node.ts';
import { pageLink } from './links.ts';
import { Section } from './section.tsx';

/** Executions that are shown. */
const EXECUTIONS_MAX = 10;

const T = NODE.executions;

/** The latest first. */
export function Executions({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const polled = usePolled(() =>
    live.api.list_command_executions.query({ node_id__in: [node.id], page_size: EXECUTIONS_MAX }),
  ).value;
  return (
    <Section id="executions" title={T.title}>
      {(polled.data === null || polled.failure !== null) && <Asked polled={polled} />}
      {polled.data?.data.length === 0 && <p class="soft">{T.none}</p>}
      {polled.data !== null && polled.data.data.length > 0 && (
        <>
          <div class="scroll" role="region" aria-label={T.table} tabIndex={0}>
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
                      <CommandText id={one.command_id} text={one.command_text} />
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
          <p class="soft">{T.total(polled.data.pagination.total_count)}</p>
        </>
      )}
    </Section>
  );
}

/** Its first line. */
function CommandText({ id, text }: { readonly id: string; readonly text: string }) {
  const [line = ''] = text.trim().split('\n', 1);
  const link = pageLink('command', id);
  const shown = (
    <code>
      <bdi>{line}</bdi>
    </code>
  );
  return link === null ? shown : <a href={link}>{shown}</a>;
}
