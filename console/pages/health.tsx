/** Whether the service works: the checks of the admin that answers, all admins, and what it is doing. */
import type { ComponentChildren } from 'preact';
import type { PeerAdminStatus } from '../../actors/resources/peer-admin.ts';
import { nowMs } from '../clock.ts';
import type { Live } from '../live.ts';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import { toRow } from '../parts/row-keys.ts';
import { State } from '../parts/state.tsx';
import type { PageProps } from '../page-props.ts';
import { usePolled } from '../poll.ts';
import { addressOf } from '../routes.ts';
import { serving } from '../serving.ts';
import { TEXTS } from '../texts.ts';
import { HEALTH } from '../texts/health.ts';

const T = HEALTH;

/** Admins of one answer: as many as a page of a list has at most. */
const ADMINS_MAX = 100;

/** Checks that fail stand first. */
export function HealthPage({ live, me }: PageProps) {
  return (
    <>
      <Heading text={TEXTS.pages.health} />
      <p class="lead">{T.lead}</p>
      <Elsewhere cli="edge health" curl={`curl '${location.origin}/healthz'`} />
      <Checks live={live} />
      <Everywhere live={live} />
      {me.principal === 'api' ? <State text={T.doing.forbidden} /> : <Doing live={live} />}
    </>
  );
}

function Checks({ live }: { readonly live: Live }) {
  const admin = serving.value?.name ?? null;
  const health = usePolled(() => live.api.check_admin_health.query({}), admin ?? '');
  const { data, isOld } = health.value;
  const found = isOld ? undefined : data?.checks; // those of another admin are not its own
  const checks = found?.toSorted((one, other) => Number(one.healthy) - Number(other.healthy)) ?? [];
  return (
    <section>
      <h2>{T.checks(admin)}</h2>
      <Asked polled={health.value} />
      {checks.length > 0 && (
        <div class="scroll" role="region" aria-label={T.checks(admin)} tabIndex={0} onKeyDown={toRow}>
          <table>
            <thead>
              <tr>
                {Object.entries(T.columns).map(([column, title]) => (
                  <th key={column} scope="col" class={column === 'took' ? 'number' : ''}>
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {checks.map(({ name, healthy, error, duration_ms: ms }) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td>
                    <span class={healthy ? 'well' : 'ill'}>{healthy ? T.passes : T.fails}</span>
                  </td>
                  <td class="number">{T.ms(ms)}</td>
                  <td>
                    <bdi>{error}</bdi>
                    {!healthy && T.remedies[name] !== undefined && <p class="soft remedy">{T.remedies[name]}</p>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** What /health/cluster looks at, as far as operations tell it. */
function Everywhere({ live }: { readonly live: Live }) {
  const polled = usePolled(async () => {
    const [admins, mine, orphans] = await Promise.all([
      live.api.list_admins.query({ page_size: ADMINS_MAX }),
      live.api.get_my_admin_cluster.query({}),
      live.api.list_orphaned_clusters.query({}),
    ]);
    return { admins: admins.data, isDegraded: mine.degraded, orphans: Object.keys(orphans).length };
  });
  const { data } = polled.value;
  if (data === null) return <Asked polled={polled.value} />;
  const { admins, orphans, isDegraded } = data;
  const namesOf = (one: PeerAdminStatus): string[] =>
    admins.filter(({ status }) => status === one).map(({ name }) => name);
  const [silent, gone] = [namesOf('silent'), namesOf('gone')];
  const unreached = admins.filter(({ link }) => link?.state === 'unreached' || link?.state === 'other_version');
  return (
    <section aria-labelledby="everywhere">
      <h2 id="everywhere">
        <a href={addressOf('admins')}>{T.everywhere(admins.length)}</a>
      </h2>
      {polled.value.failure !== null && <Asked polled={polled.value} />}
      <ul class="facts-list">
        <Fact isWell={silent.length === 0}>
          {silent.length > 0 ? T.silent(silent) : gone.length > 0 ? T.othersCheckIn : T.allCheckIn}
        </Fact>
        {gone.length > 0 && <li class="soft">{T.gone(gone)}</li>}
        <Fact isWell={unreached.length === 0}>
          {unreached.length === 0 ? T.allReached : T.unreached(unreached.map(({ name }) => name))}
        </Fact>
        <Fact isWell={orphans === 0}>{orphans === 0 ? T.allOwned : T.orphans(orphans)}</Fact>
        <Fact isWell={!isDegraded}>{isDegraded ? T.degraded : T.room}</Fact>
      </ul>
    </section>
  );
}

function Fact({ isWell, children }: { readonly isWell: boolean; readonly children: ComponentChildren }) {
  return <li class={isWell ? 'well' : 'ill'}>{children}</li>;
}

/**
 * Asked once, and of another admin once more, not again and again: reading them begins the measurement of the event
 * loop anew for all who read.
 */
function Doing({ live }: { readonly live: Live }) {
  const ask = async () => ({
    ...(await live.api.get_admin_metrics.query({})),
    at: new Date(nowMs.peek()).toISOString(),
  });
  const asked = usePolled(ask, serving.value?.name ?? '', { isOnce: true });
  const { data, again, isOld, failure } = asked.value;
  if (data === null || isOld) return <Asked polled={asked.value} />;
  const { relay, broker, webhooks, events, sessions, executions, database, commits } = data;
  const numbers: readonly (readonly [name: string, value: number | string | null])[] = [
    [T.doing.sessions, sessions.open],
    [T.doing.executions, sum(executions.pending, executions.sent)],
    [T.doing.waiting, commits.waiting],
    [T.doing.connections, sum(database.connections_busy, database.connections_waiting)],
    [T.doing.deliveries, webhooks.deliveries_pending],
    [T.doing.backlog, events.webhooks_backlog],
    [T.doing.broker, broker === null ? T.none : stateOfBroker(broker.up)],
    [T.doing.brokerBacklog, broker === null ? T.none : events.broker_backlog],
    [T.doing.relay, relay === null ? T.none : relay.clients],
    [
      T.doing.relayDropped,
      relay === null ? T.none : Object.values(relay.dropped_by_reason).reduce((all, one) => all + one, 0),
    ],
  ];
  return (
    <section aria-labelledby="doing">
      <h2 id="doing">{T.doing.title(data.name)}</h2>
      <dl class="admin-facts">
        {numbers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'number' ? value.toLocaleString('en') : (value ?? T.unknown)}</dd>
          </div>
        ))}
      </dl>
      <p class="soft">
        {T.doing.asked} <Ago at={data.at} />
      </p>
      {failure === null ? (
        <button type="button" onClick={again}>
          {T.doing.again}
        </button>
      ) : (
        <Asked polled={asked.value} />
      )}
    </section>
  );
}

/** Null: another admin publishes for all of them. */
function stateOfBroker(isUp: boolean | null): string {
  return isUp === null ? T.doing.brokerElsewhere : isUp ? T.up : T.down;
}

function sum(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
}
