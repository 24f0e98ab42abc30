/** Time as the database tells it, beside a machine whose clock is wrong (O2). */
import test from 'ava';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { DatabaseClock, SKEW_MS_MAX } from '../../../persistence/database-clock.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { openStoredFleet } from './fixture.ts';
import { column } from '../../support/database/columns.ts';
import { storeEvents } from '../../support/database/stored-rows.ts';

const DAY_MS = 86_400_000;

/** Two clocks that are read one after the other differ by less, in ms, beside what the answer to a question took. */
const READ_MS_MAX = 1_000;

/** What is asked, and how long the answer took at most, in ms: it tells the time of some moment between. */
async function timed<T>(asked: Promise<T>): Promise<readonly [T, number]> {
  const beganMs = performance.now();
  const answer = await asked;
  return [answer, READ_MS_MAX + performance.now() - beganMs];
}

/** A clock that is off by so much, and whose callbacks come when the test says. */
function wrongClock(aheadMs: number) {
  const waiting: (() => void)[] = [];
  const clock = {
    aheadMs,
    nowMs: (): number => Date.now() + clock.aheadMs,
    after: (_ms: number, run: () => void) => {
      waiting.push(run);
      return () => undefined;
    },
  };
  return { clock, waiting };
}

test('a machine a day ahead goes by the database, and knows by how much it is wrong', async (t) => {
  const { pool } = await openedDatabase(t);
  const { clock, waiting } = wrongClock(DAY_MS);
  const log = recordingLog();

  const [known, errorMs] = await timed(DatabaseClock.start(pool, { clock, monotonicMs: () => performance.now(), log }));
  t.true(Math.abs(known.nowMs() - Date.now()) < errorMs);
  t.true(Math.abs(known.skewMs() - DAY_MS) < errorMs);
  t.true(known.isSkewed());

  clock.aheadMs -= known.skewMs() - (SKEW_MS_MAX - READ_MS_MAX); // by as much as it knows
  t.false(known.isSkewed());
  waiting.shift()?.();
  await known.stop();
  t.deepEqual(column(log.lines, 'message'), [
    'the clock of this machine differs from the database: nothing is pruned',
    'the clock of this machine agrees with the database again',
  ]);
});

test('a machine that stood still knows the time again with the next answer', async (t) => {
  const { pool } = await openedDatabase(t);
  const { clock, waiting } = wrongClock(0);
  let stoodStillMs = 0;

  const [known, errorMs] = await timed(
    DatabaseClock.start(pool, {
      clock,
      monotonicMs: () => performance.now() - stoodStillMs,
      log: silentLog,
    }),
  );
  stoodStillMs = DAY_MS; // its monotonic clock did not count meanwhile
  t.true(Date.now() - known.nowMs() > DAY_MS - errorMs);
  waiting.shift()?.();
  const [, againMs] = await timed(known.stop());

  t.true(Math.abs(known.nowMs() - Date.now()) < againMs);
});

test('without a database there is no time to start with', async (t) => {
  const { pool } = await openedDatabase(t);
  const { clock } = wrongClock(0);
  const away = Object.assign(Object.create(pool) as typeof pool, {
    query: () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
  });

  await t.throwsAsync(DatabaseClock.start(away, { clock, monotonicMs: () => performance.now(), log: silentLog }), {
    instanceOf: DatabaseUnavailable,
  });
});

test('sweeps take every cutoff from the database: what is due and old by its clock, and nothing else', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const { pool } = opened;
  await pool.query(`update command_execution set expired_at = now() + interval '1 hour' where finished_at is null`);
  await pool.query(
    `update command_execution set finished_at = now() - interval '29 days 23 hours' where finished_at is not null`,
  );
  const [due] = fixture.command_executions.filter(({ status }) => status === 'pending' || status === 'sent');
  await pool.query(`update command_execution set expired_at = now() - interval '1 second' where id = $1`, [due?.id]);
  const sweeps = sweepsOf(pool);

  t.deepEqual<readonly string[], readonly (string | undefined)[]>(
    (await sweeps.expireDue()).executions.map(({ execution }) => execution),
    [due?.id],
  );
  t.is((await sweeps.prunings.executions()).count, 0);
});

test('events stamped in the future do not stop retention', async (t) => {
  const { pool } = await openedDatabase(t);
  await storeEvents(pool, 3_000, '-1 day'); // of an admin whose clock was a day ahead
  await storeEvents(pool, 40, '8 days');
  await storeEvents(pool, 5, '1 day');
  const sweeps = sweepsOf(pool);

  t.is((await sweeps.prunings.events()).count, 40);
});
