/** What a start needs of a database that is away, slow or wrong. */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { DatabaseArrival } from '../../../../persistence/connections/arrival.ts';
import { recordingLog } from '../../../support/log.ts';

/** A step that fails so many times, with this, and then gives its number of tries. */
function failing(times: number, error: Error) {
  let tries = 0;
  return {
    tries: () => tries,
    step: async (): Promise<number> => {
      tries += 1;
      if (tries <= times) throw error;
      return tries;
    },
  };
}

const AWAY = new DatabaseUnavailable('The database is not available (a test).');

test('a step for which the database has no time is done again, and the wait is told once', async (t) => {
  const log = recordingLog();
  const arrival = new DatabaseArrival(60_000, log);

  t.is(await arrival.done('a first step', failing(2, AWAY).step), 3);
  t.is(await arrival.done('a step that succeeds', failing(0, AWAY).step), 1);

  t.deepEqual(
    log.lines.map(({ message }) => message),
    ['The database does not answer yet: it is tried again for 60 s', 'The database answers'],
  );
});

test('all steps of a start share one time limit, and the last error says what was not done', async (t) => {
  const { step, tries } = failing(Infinity, Object.assign(new Error('too slow'), { code: '57014' }));
  let [arrival, triedBefore, lastMsMax] = [new DatabaseArrival(500, recordingLog()), 0, 500];
  // a process that stood still after the first try had no time for another: it is given more
  for (let msMax = 500; triedBefore <= 1 && msMax <= 32_000; msMax *= 4) {
    [arrival, lastMsMax] = [new DatabaseArrival(msMax, recordingLog()), msMax];
    const earlier = tries();
    await t.throwsAsync(arrival.done('one step', step), { instanceOf: DatabaseUnavailable, message: /one step/u });
    triedBefore = tries() - earlier;
  }
  t.true(triedBefore > 1);
  await delay(lastMsMax); // what is left of its time
  const before = tries();
  await t.throwsAsync(arrival.done('another step', step), { message: /another step/u });

  t.is(tries() - before, 1);
});

test('what is wrong with the database itself ends the start at once', async (t) => {
  const log = recordingLog();
  const { step, tries } = failing(1, Object.assign(new Error('no such password'), { code: '28P01' }));

  await t.throwsAsync(new DatabaseArrival(60_000, log).done('connecting', step), { message: 'no such password' });

  t.is(tries(), 1);
  t.deepEqual(log.lines, []);
});

test('a wait that is not wanted any more ends at once, also where the database does not answer at all', async (t) => {
  for (const step of [failing(Infinity, AWAY).step, () => new Promise<never>(() => {})]) {
    const signal = new AbortController();
    const arrival = new DatabaseArrival(86_400_000, recordingLog(), signal.signal);
    const waits = arrival.done('connecting', step);

    signal.abort(new Error('stopped'));

    await t.throwsAsync(waits, { message: 'stopped' });
    await t.throwsAsync(arrival.done('another step', failing(0, AWAY).step), { message: 'stopped' });
  }
});

test('a long time limit is told in hours', async (t) => {
  const log = recordingLog();

  await new DatabaseArrival(86_400_000, log).done('connecting', failing(1, AWAY).step);

  t.is(log.lines[0]?.message, 'The database does not answer yet: it is tried again for 24 h');
});
