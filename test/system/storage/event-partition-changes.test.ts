/** How partitions of the events are changed: nobody waits for a round trip, and two admins may do it at once. */
import test from 'ava';
import { Client } from 'pg';
import { dropOldest, keepAhead } from '../../../persistence/event-partitions/upkeep.ts';
import { before, DATABASE_NOW } from '../../../persistence/sweeps/timestamps.ts';
import { storeEvents } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';
import { aroundQueries, opened, WEEK } from './event-partitions-fixture.ts';

const KEPT_FROM = before(DATABASE_NOW, WEEK * 86_400_000);

/** Whatever lies in the default partition is too much. */
const SETS_ASIDE = { aheadBytesMax: 0 };

test('no lock for which others wait is held across a round trip, whether a partition is made, set aside or dropped', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  const held: string[] = [];
  aroundQueries(pool, {
    async after(text, backend) {
      const { rowCount } = await pool.query(
        `select from pg_locks where pid = $1 and mode = 'AccessExclusiveLock' and relation in ('event'::regclass, 'event_ahead'::regclass)`,
        [backend],
      );
      if (rowCount !== 0) held.push(text);
    },
  });
  await pass(5_000_000);
  await storeEvents(pool, 2);

  await until('partitions', () => keepAhead(pool, WEEK, SETS_ASIDE));
  const made = await partitions();
  await until('the oldest to be dropped', () => dropOldest(pool, KEPT_FROM));

  t.deepEqual(await partitions(), made.slice(1));
  t.deepEqual(held, []);
});

for (const [does, options, other, otherOptions, passed] of [
  ['sets aside', SETS_ASIDE, 'did so', SETS_ASIDE, 5_000_000],
  ['makes one', {}, 'did so', {}, 600_000],
  ['makes one', {}, 'set aside what lies there', SETS_ASIDE, 5_000_000],
] as const)
  test(`an admin that ${does} while another just ${other} does nothing, and goes on later`, async (t) => {
    const { pool, pass, partitions } = await opened(t);
    await pass(passed);
    await storeEvents(pool, 2);
    let made: Awaited<ReturnType<typeof partitions>> | null = null;
    let isOther = false;
    aroundQueries(pool, {
      async before(text) {
        if (isOther || !/event_from_\d/u.test(text)) return;
        isOther = true;
        await pass(1);
        await until('partitions of the other', () => keepAhead(pool, WEEK, otherOptions));
        made = await partitions();
      },
    });

    t.false(await keepAhead(pool, WEEK, options));

    t.deepEqual(await partitions(), made);
    await until('it to go on', () => keepAhead(pool, WEEK, options));
  });

test('an admin that makes a partition while another is about to does nothing', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  await pass(600_000);
  const there = await partitions();
  const other = new Client({ ...pool.options });
  await other.connect();
  t.teardown(() => other.end());
  let done = Promise.resolve<unknown>(null);
  let isMade = false;
  aroundQueries(pool, {
    async before(text) {
      if (!text.includes('create table event_from_')) return;
      await other.query(`begin; ${text.replace(/^begin; |; commit$/gu, '')}`);
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      const isWaitedFor = async (): Promise<boolean> => (await pool.query(waiting)).rowCount !== 0;
      done = until('it to be waited for, or over', async () => isMade || (await isWaitedFor())).then(() =>
        other.query('commit'),
      );
    },
  });

  t.false(await keepAhead(pool, WEEK));
  isMade = true;

  await done;
  t.is((await partitions()).length, there.length + 1);
});

test('what is in the way of a partition and is none is told', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  await pass(600_000);
  const end = (await partitions()).at(-1)?.[1];
  await pool.query(`create table event_from_${end} ()`);

  await t.throwsAsync(keepAhead(pool, WEEK), { message: /already exists/u });
});

test('of two admins that drop a partition at once, the other goes on', async (t) => {
  const { pool, pass, partitions } = await opened(t);
  await pass(600_000);
  await until('partitions', () => keepAhead(pool, WEEK));
  await pass(1_000_000);
  const there = await partitions();
  let isOther = false;
  aroundQueries(pool, {
    async before(text) {
      if (isOther || !text.includes('drop table')) return;
      isOther = true;
      await until('the other to drop it', () => dropOldest(pool, KEPT_FROM));
    },
  });

  t.true(await dropOldest(pool, KEPT_FROM));

  t.deepEqual(await partitions(), there.slice(1));
});
