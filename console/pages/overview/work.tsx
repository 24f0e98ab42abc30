/** What goes on: commands and executions in flight, events, webhooks; and what failed a moment ago. */
import type { OverviewResource } from '../../../actors/resources/overview.ts';
import type { Fleet } from '../../fleet/feed.ts';
import { COMMANDS_IN_FLIGHT, failedSince, IN_FLIGHT } from '../../lists/executions.ts';
import { WAITING } from '../../lists/webhook-trouble.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import type { Polled } from '../../poll.ts';
import { addressIfThere, addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { Tile } from './tile.tsx';

/** First characters of a script that stand for it. */
const SCRIPT_CHARACTERS_MAX = 60;

const T = TEXTS.overview;

/** The tiles, and the failures below them. A number that the service could not count leaves the others. */
export function Work({ polled, fleet }: { readonly polled: Polled<OverviewResource>; readonly fleet: Fleet }) {
  const { data } = polled;
  void fleet.version.value; // names of nodes
  const max = data?.counted_max ?? Infinity;
  /** Commands are counted among so many of them. */
  const isMoreOpen = (data?.executions_in_flight ?? max) >= max;
  const dropped = data?.deliveries_dropped ?? 0;
  const counted = (count: number | null | undefined, more?: string) => ({
    count: count ?? null,
    isMore: (count ?? 0) >= max,
    more: data !== null && count === null ? T.notCounted : more,
  });
  return (
    <section aria-labelledby="work">
      <h2 id="work">{T.work}</h2>
      {polled.failure !== null && <Asked polled={polled} text={T.notAsked} />}
      <ul class="tiles">
        <Tile
          to={addressIfThere('commands', { search: COMMANDS_IN_FLIGHT })}
          name={T.commandsInFlight}
          {...counted(data?.commands_in_flight)}
          isMore={isMoreOpen}
        />
        <Tile
          to={addressIfThere('executions', { search: IN_FLIGHT })}
          name={T.inFlight}
          {...counted(data?.executions_in_flight)}
        />
        <Tile
          to={addressIfThere('executions', { search: failedSince(data?.as_of ?? null) })}
          name={T.failed}
          kind={(data?.executions_failed ?? 0) > 0 ? 'unreachable' : ''}
          {...counted(data?.executions_failed, T.lastHour)}
        />
        <Tile to={addressIfThere('events')} name={T.events} {...counted(data?.events_stored, T.lastMinute)} />
        <Tile
          to={addressIfThere('deliveries', { search: WAITING })}
          name={T.deliveries}
          kind={dropped > 0 ? 'unhealthy' : ''}
          {...counted(data?.deliveries_waiting, T.dropped(data === null ? 0 : data.deliveries_dropped))}
        />
      </ul>
      {(data?.latest_failures ?? []).length > 0 && <Failures fleet={fleet} failures={data?.latest_failures ?? []} />}
    </section>
  );
}

type Failure = NonNullable<OverviewResource['latest_failures']>[number];

function Failures({ fleet, failures }: { readonly fleet: Fleet; readonly failures: readonly Failure[] }) {
  return (
    <>
      <h3>{T.failures}</h3>
      <ul class="failures">
        {failures.map(
          ({ id, node_id: node, command_id: command, command_text: script, exit_code: code, completed_at: at }) => {
            const to = addressIfThere('command', { id: command });
            const text = <bdi>{script.trim().split('\n', 1)[0]?.slice(0, SCRIPT_CHARACTERS_MAX)}</bdi>;
            return (
              <li key={id}>
                <code>{to === null ? text : <a href={to}>{text}</a>}</code>{' '}
                <a href={addressOf('node', { id: node })}>
                  <bdi>{fleet.rows.get(node)?.name ?? node}</bdi>
                </a>{' '}
                <span class="ill">{T.exit(code)}</span> <Ago at={at} />
              </li>
            );
          },
        )}
      </ul>
    </>
  );
}
