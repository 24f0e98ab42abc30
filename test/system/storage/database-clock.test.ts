/** Time as the database tells it, beside a machine whose clock is wrong (O2). */
import test from 'ava';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { DatabaseClock, SKEW_MS_MAX } from '../../../persistence/database-clock.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { openStoredFleet } from './fixture.ts';
import { column } from '../../support/database/columns.ts';
import { until } from '../../support/until.ts';
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

  const [known, errorMs] = await timed(DatabaseClock.start(pool, { clock, log }));
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

/** The clocks of a machine that can stand still: what each of them has missed, in ms. */
function stoppableMachine() {
  const missed = { monotonic: 0, boot: 0 };
  const witnesses = {
    monotonicMs: () => performance.now() - missed.monotonic,
    bootMs: () => performance.now() - missed.boot,
    wallMs: () => Date.now(),
  };
  return { missed, witnesses };
}

test('a machine that was suspended for a day is not a day late until the next answer', async (t) => {
  const { pool } = await openedDatabase(t);
  const { clock } = wrongClock(0);
  const { missed, witnesses } = stoppableMachine();
  const [known, errorMs] = await timed(DatabaseClock.start(pool, { clock, witnesses, log: silentLog }));

  missed.monotonic = DAY_MS;

  t.true(Math.abs(known.nowMs() - Date.now()) < errorMs);
  const ran: string[] = [];
  known.whenKnown(() => ran.push('at once'));
  t.deepEqual(ran, ['at once']);
});

test('a machine that its hypervisor stopped is sure of the time again with an answer to a question of after that', async (t) => {
  const { pool } = await openedDatabase(t);
  const { clock, waiting } = wrongClock(0);
  const { missed, witnesses } = stoppableMachine();
  const held: PromiseWithResolvers<void>[] = [];
  const slow = Object.assign(Object.create(pool) as typeof pool, {
    query: async (...question: Parameters<typeof pool.query>) => {
      const asked: unknown = pool.query(...question);
      const answer = await (asked as Promise<unknown>);
      await held[0]?.promise;
      return answer;
    },
  });
  const known = await DatabaseClock.start(slow, { clock, witnesses, log: silentLog });
  const first = Promise.withResolvers<void>();
  const ran: string[] = [];
  held.push(first);
  waiting.shift()?.(); // asked before it is stopped, and answered after

  missed.monotonic = DAY_MS;
  missed.boot = DAY_MS;
  const offMs = (): number => Math.abs(known.nowMs() - Date.now());
  const sure = Promise.withResolvers<number>();
  known.whenKnown(() => sure.resolve(offMs()));
  known.whenKnown(() => ran.push('the second waits as well'));
  t.deepEqual([offMs() > DAY_MS / 2, ran], [true, []]);
  held.length = 0;
  first.resolve();

  const [late, againMs] = await timed(sure.promise);
  t.true(late < againMs);
  t.deepEqual(ran, ['the second waits as well']);
  known.whenKnown(() => ran.push('at once'));
  t.deepEqual(ran, ['the second waits as well', 'at once']);
  await known.stop();
});

test('who waits to be sure of the time waits for the database', async (t) => {
  const { pool } = await openedDatabase(t);
  const { clock, waiting } = wrongClock(0);
  const { missed, witnesses } = stoppableMachine();
  const away = { is: false };
  const fragile = Object.assign(Object.create(pool) as typeof pool, {
    query: (...question: Parameters<typeof pool.query>): unknown =>
      away.is ? Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })) : pool.query(...question),
  });
  const known = await DatabaseClock.start(fragile, { clock, witnesses, log: silentLog });
  away.is = true;
  missed.monotonic = DAY_MS;
  missed.boot = DAY_MS;
  waiting.length = 0;

  const sure = Promise.withResolvers<number>();
  known.whenKnown(() => sure.resolve(Math.abs(known.nowMs() - Date.now())));
  await until('the next question is planned', () => waiting.length > 0);
  away.is = false;
  waiting.shift()?.();

  const [late, errorMs] = await timed(sure.promise);
  t.true(late < errorMs);
  await known.stop();
});

test('without a database there is no time to start with', async (t) => {
  const { pool } = await openedDatabase(t);
  const { clock } = wrongClock(0);
  const away = Object.assign(Object.create(pool) as typeof pool, {
    query: () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
  });

  await t.throwsAsync(DatabaseClock.start(away, { clock, log: silentLog }), {
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
