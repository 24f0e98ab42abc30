/**
 * Clocks of admins and agents are wrong by hours, and jump while they work (O2, C8). What is decided and stored is by
 * the database's clock.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { LATE_S_MAX } from './invariants.ts';
import { accepted, begun, killAgents, load, type KillPoint } from './kill-points.ts';
import type { Fixture } from './fixture.ts';

/** Until something expires, in ms: less and more than clocks are off. */
const SOON_MS = 1_500;
const AN_HOUR_MS = 3_600_000;

/** Offsets of admins and agents, in turns. */
const OFFSETS = [
  ['+5h', '-7h'],
  ['-7h', '+5h'],
  ['+1d', '+1d'],
  ['-1d', '+3h'],
] as const;

/** Longest until health notices a jump, in ms. */
const NOTICED_MS_MAX = 30_000;

/** Every way in which clocks may be wrong. Needs a fixture that has some. */
export const CLOCK_JUMPS: readonly KillPoint[] = [
  { name: 'clocks: those of admins and agents jump by hours under load', strike: jumpsUnderLoad },
  { name: 'clocks: those of agents jump while something expires for one that stands still', strike: jumpsBeforeExpiry },
  { name: 'clocks: admin and agents start with theirs off by hours', strike: startsOff },
];

async function jumpsUnderLoad(fixture: Fixture): Promise<void> {
  const loading = await load(fixture);
  await shift(fixture);
  const open = await accepted(fixture, 'slow', { expiresMs: AN_HOUR_MS });
  await shift(fixture);
  const more = [fixture.create('timed'), fixture.create('slow', { expiresMs: AN_HOUR_MS }), ...(await load(fixture))];
  await Promise.all([...loading, ...more]);
  await ran(fixture, open.id);
  await noticed(fixture);
}

/**
 * The agent that stands still wakes with another time than it had; what is due has expired by the database's clock, and
 * what is not has not.
 */
async function jumpsBeforeExpiry(fixture: Fixture): Promise<void> {
  const still = fixture.fleet.agents.at(-1);
  still?.program.pause();
  fixture.freezes += 1;
  try {
    const [due, open] = await Promise.all([
      accepted(fixture, 'quick', { expiresMs: SOON_MS }),
      accepted(fixture, 'quick', { expiresMs: AN_HOUR_MS }),
    ]);
    await shift(fixture);
    await delay(SOON_MS + LATE_S_MAX * 1_000 + 500);
    const statuses = async (id: string | null) =>
      (
        await fixture.fleet.sql<{ status: string }>(
          'select status from command_execution where command_id = $1 and node_id = $2',
          [id, still?.node],
        )
      )
        .map(({ status }) => status)
        .join();
    await until(
      'an expiry by the clock of the database (O2)',
      async () => (await statuses(due.id)) === 'expired',
      NOTICED_MS_MAX,
    );
    if ((await statuses(open.id)) !== 'pending')
      throw new Error(`O2: what expires in an hour is ${await statuses(open.id)}`);
    await shift(fixture);
  } finally {
    still?.program.resume();
  }
}

async function startsOff(fixture: Fixture): Promise<void> {
  await begun(fixture, 'slow', 1);
  const open = await accepted(fixture, 'slow', { expiresMs: AN_HOUR_MS });
  await Promise.all([fixture.killAdmin(), killAgents(fixture)]);
  await shift(fixture);
  await fixture.fleet.admin().start();
  for (const agent of fixture.fleet.agents) agent.start();
  await Promise.all([fixture.create('quick', { expiresMs: AN_HOUR_MS }), fixture.create('timed')]);
  await until(
    'the end of what expires in an hour',
    async () =>
      (
        await fixture.fleet.sql('select from command_execution where command_id = $1 and finished_at is null', [
          open.id,
        ])
      ).length === 0,
  );
  await noticed(fixture);
}

/** Sets all clocks to the next offsets. */
async function shift(fixture: Fixture): Promise<void> {
  const clocks = clocksOf(fixture);
  const [admins, agents] = OFFSETS[fixture.clocksSet % OFFSETS.length] ?? OFFSETS[0];
  fixture.clocksSet += 1;
  await Promise.all([clocks.admins.set(admins), clocks.agents.set(agents)]);
}

/** No agent was killed: what is not due is not expired, and nothing else ended it. */
async function ran(fixture: Fixture, command: string | null): Promise<void> {
  const statuses = await until('the end of what expires in an hour', async () => {
    const rows = await fixture.fleet.sql<{ status: string; finished_at: Date | null }>(
      'select status, finished_at from command_execution where command_id = $1',
      [command],
    );
    return rows.every(({ finished_at: at }) => at !== null) ? rows.map(({ status }) => status) : null;
  });
  if (statuses.some((status) => status !== 'completed'))
    throw new Error(`O2: what expires in an hour ended as ${statuses.join()}`);
}

/** An admin whose clock is off says so, and says that it is right again. */
async function noticed(fixture: Fixture): Promise<void> {
  const unhealthy = async (): Promise<string> =>
    (
      (await (await fetch(`${fixture.fleet.admin().url}/healthz`)).json()) as readonly {
        readonly name: string;
        readonly healthy: boolean;
      }[]
    )
      .filter(({ healthy }) => !healthy)
      .map(({ name }) => name)
      .join();
  await until(
    'health that says that the clock is wrong (O2)',
    async () => (await unhealthy()) === 'database_clock',
    NOTICED_MS_MAX,
  );
  await clocksOf(fixture).admins.set('+0');
  await until('health that says that the clock is right (O2)', async () => (await unhealthy()) === '', NOTICED_MS_MAX);
}

function clocksOf(fixture: Fixture): NonNullable<Fixture['clocks']> {
  if (fixture.clocks === null) throw new Error('a fixture with clocks is needed');
  return fixture.clocks;
}

/** Every moment that programs store of what they did. */
const MOMENTS = `select 'command' as what, inserted_at as at from command union all select 'node', inserted_at from node union all select 'seen', last_seen_at from node union all select 'event', time from event
  union all select 'finished', finished_at from command_execution union all select 'sent', sent_at from command_execution union all select 'completed', completed_at from command_execution
  union all select 'cancelled', cancelled_at from command_execution union all select 'cluster', inserted_at from cluster`;

/**
 * What was stored by another clock than the database's: no clock is set by less than an hour, and no fixture is so old
 * (O2).
 */
export async function wrongMoments(fixture: Fixture): Promise<readonly string[]> {
  const wrong = await fixture.fleet.sql<{ what: string; n: number }>(
    `select what, count(*)::int as n from (${MOMENTS}) m where abs(extract(epoch from at - clock_timestamp())) > 3300 group by what`,
  );
  return wrong.map(({ what, n }) => `O2: ${n} moments (${what}) are stored by a clock that is wrong`);
}
