/** The groups that a node is in now. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import { reachOf } from '../../lists/groups-of-node.ts';
import type { Live } from '../../live.ts';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { addressOf } from '../../routes.ts';
import { NODE } from '../../texts/node.ts';
import { Section } from './section.tsx';

/** Groups that are looked through: one page of a list, the first by name. */
const GROUPS_MAX = 100;

const T = NODE.groups;

/** Asked anew when the node changed. */
export function Groups({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const polled = usePolled(() => groupsOf(live.api, node), node.updated_at, { isOnce: true }).value;
  return (
    <Section id="groups" title={T.title} beside={<a href={addressOf('groups')}>{T.all}</a>}>
      {(polled.data === null || polled.failure !== null) && <Asked polled={polled} />}
      {polled.data?.length === 0 && <p class="soft">{T.none}</p>}
      {polled.data !== null && polled.data.length > 0 && (
        <ul class="tags links">
          {polled.data.map((name) => (
            <li key={name}>
              <a href={addressOf('group', { id: name })}>{name}</a>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Their names. What labels or filters decide is asked one after the other: an admin has other things to do. */
async function groupsOf(api: Live['api'], node: NodeResource): Promise<readonly string[]> {
  const { data } = await api.list_groups.query({ page_size: GROUPS_MAX, sort: 'name' });
  const names: string[] = [];
  for (const { name, targeting } of data) {
    const whole = targeting.withheld ? (await api.get_group.query({ name })).targeting : targeting;
    const reach = reachOf(whole, node);
    const isIn =
      typeof reach === 'boolean' ? reach : (await api.preview_targeting.query({ targeting: reach })).node_count > 0;
    if (isIn) names.push(name);
  }
  return names;
}
