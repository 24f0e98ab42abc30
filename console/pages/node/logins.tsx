/** Who logged in to a node by SSH, and who was refused. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { NODE } from '../../texts/node.ts';
import { EventPages, useNodeEvents } from './event-pages.tsx';
import { happened, LOGIN_TYPES } from './happened.ts';
import { Section } from './section.tsx';

/** Logins that are shown at a time. */
const LOGINS_MAX = 10;

const T = NODE.logins;

/** The latest first. The name is whatever a stranger typed. */
export function Logins({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const { page, polled } = useNodeEvents(live, { node: node.id, types: LOGIN_TYPES, pageSize: LOGINS_MAX });
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
      {polled.data !== null && <EventPages label={T.title} page={page} pagination={polled.data.pagination} />}
    </Section>
  );
}
