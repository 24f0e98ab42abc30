/** What SSH sessions on a node showed. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { durationOf } from '../../quantities.ts';
import { NODE } from '../../texts/node.ts';
import { AllOf } from './all-of.tsx';
import { pageLink } from './links.ts';
import { Section } from './section.tsx';

/** Recordings that are shown. */
const RECORDINGS_MAX = 5;

const T = NODE.recordings;

/** The latest first. */
export function Recordings({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const polled = usePolled(() =>
    live.api.list_ssh_recordings.query({ node_id__in: [node.id], page_size: RECORDINGS_MAX }),
  ).value;
  const count = polled.data?.pagination.total_count ?? 0;
  return (
    <Section
      id="recordings"
      title={T.title}
      beside={<AllOf page="recordings" node={node.id} count={count} all={T.all} />}
    >
      {(polled.data === null || polled.failure !== null) && <Asked polled={polled} />}
      {polled.data?.data.length === 0 && <p class="soft">{T.none}</p>}
      <ul class="plain">
        {polled.data?.data.map(({ id, username, command, started_at: at, duration_ms: ms }) => {
          const link = pageLink('recording', id);
          const name = <bdi>{command === null ? T.shell(username) : `${username}: ${command}`}</bdi>;
          return (
            <li key={id}>
              {link === null ? name : <a href={link}>{name}</a>}{' '}
              <span class="soft">
                <Ago at={at} />, {durationOf(ms / 1_000)}
              </span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
