/** What goes on: executions in flight, changes, webhooks; and what failed a moment ago. */
import { nowMs } from '../../clock.ts';
import type { Fleet } from '../../fleet/feed.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { addressIfThere, addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { Tile } from './tile.tsx';

/** What has failed within this time is news, in ms. */
const RECENT_MS = 3_600_000;

/** Executions that failed and stand here. */
const FAILURES_MAX = 5;

/** First characters of a script that stand for it. */
const SCRIPT_CHARACTERS_MAX = 60;

const T = TEXTS.overview;

/** Counted by the service, each in a page of one row. */
async function askWork({ api }: Live) {
  const since = new Date(Date.now() - RECENT_MS).toISOString();
  const [open, failed, waiting, dropped] = await Promise.all([
    api.list_command_executions.query({ status__in: ['pending', 'sent'], page_size: 1 }),
    api.list_command_executions.query({
      status__in: ['completed'],
      exit_code__gte: 1,
      completed_at__gte: since,
      sort: '-completed_at',
      page_size: FAILURES_MAX,
    }),
    api.list_webhook_deliveries.query({ status__in: ['pending'], page_size: 1 }),
    api.list_webhook_deliveries.query({ status__in: ['dropped'], updated_at__gte: since, page_size: 1 }),
  ]);
  return {
    open: open.pagination.total_count,
    failed: failed.pagination.total_count,
    failures: failed.data,
    waiting: waiting.pagination.total_count,
    dropped: dropped.pagination.total_count,
  };
}

/** The tiles, and the failures below them. */
export function Work({ live, fleet }: { readonly live: Live; readonly fleet: Fleet }) {
  const work = usePolled(() => askWork(live));
  const { data } = work.value;
  void fleet.version.value;
  return (
    <section aria-labelledby="work">
      <h2 id="work">{T.work}</h2>
      {work.value.failure !== null && <Asked polled={work.value} text={T.notAsked} />}
      <ul class="tiles">
        <Tile
          to={addressIfThere('commands', { search: '?has_open=true' })}
          count={data?.open ?? null}
          name={T.inFlight}
        />
        <Tile
          to={addressIfThere('commands', { search: '?has_failed=true' })}
          count={data?.failed ?? null}
          name={T.failed}
          kind={data !== null && data.failed > 0 ? 'unreachable' : ''}
          more={T.lastHour}
        />
        <Tile
          to={addressIfThere('events')}
          count={fleet.changes.lastMinute(nowMs.value)}
          name={T.changes}
          more={T.lastMinute}
        />
        <Tile
          to={addressIfThere('webhooks')}
          count={data?.waiting ?? null}
          name={T.deliveries}
          kind={data !== null && data.dropped > 0 ? 'unhealthy' : ''}
          more={T.dropped(data?.dropped ?? 0)}
        />
      </ul>
      {data !== null && data.failures.length > 0 && <Failures fleet={fleet} failures={data.failures} />}
    </section>
  );
}

type Failure = Awaited<ReturnType<typeof askWork>>['failures'][number];

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
                <span class="ill">{T.exit(code ?? 0)}</span> {at !== null && <Ago at={at} />}
              </li>
            );
          },
        )}
      </ul>
    </>
  );
}
