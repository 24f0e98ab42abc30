/** Who logged in to a node by SSH, and who was refused. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { NODE } from '../../texts/node.ts';
import { COUNTED_MAX, happened } from './happened.ts';
import { Section } from './section.tsx';

/** Logins that are shown. */
const LOGINS_MAX = 10;

const T = NODE.logins;

/** The latest first. The name is whatever a stranger typed. */
export function Logins({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const polled = usePolled(() =>
    live.api.list_node_events.query({
      node_id: node.id,
      type__in: ['edge.ssh_username.verified'],
      page_size: LOGINS_MAX,
      counted_max: COUNTED_MAX,
    }),
  ).value;
  const total = polled.data?.pagination.total_count ?? 0;
  return (
    <Section id="logins" title={T.title}>
      {(polled.data === null || polled.failure !== null) && <Asked polled={polled} />}
      {polled.data?.data.length === 0 && <p class="soft">{T.none}</p>}
      <ul class="plain">
        {polled.data?.data.map((event) => (
          <li key={event.id}>
            <bdi>{happened(event)}</bdi>{' '}
            <span class="soft">
              <Ago at={event.time} />
            </span>
          </li>
        ))}
      </ul>
      {total > LOGINS_MAX && <p class="soft">{T.more(LOGINS_MAX, total, total >= COUNTED_MAX)}</p>}
    </Section>
  );
}
