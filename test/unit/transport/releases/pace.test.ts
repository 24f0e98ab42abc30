import test from 'ava';
import { DOWNLOADS_MAX, Pace, SOURCE_DOWNLOADS_MAX } from '../../../../transport/releases/pace.ts';

const MIB = 1_048_576;
const WRITE_BYTES = 65_536;

/** Of a download that stays. */
const { signal: STAYS } = new AbortController();

test('a source has half of the places at most, and all of them have an end', (t) => {
  const pace = new Pace(MIB, { nowMs: () => 0 });
  const enter = (source: string, times: number) =>
    Array.from({ length: times }, () => pace.enter(source)).filter((leave) => leave !== null);

  const [leaveFirst, ...others] = enter('a', DOWNLOADS_MAX);
  t.is(others.length + 1, SOURCE_DOWNLOADS_MAX);
  t.is(enter('b', DOWNLOADS_MAX).length, DOWNLOADS_MAX - SOURCE_DOWNLOADS_MAX);
  t.is(pace.enter('c'), null);
  leaveFirst?.();
  t.not(pace.enter('c'), null);
  t.is(pace.taken, DOWNLOADS_MAX);
});

test('sources take turns, however much one of them wants', async (t) => {
  const pace = new Pace(MIB, { nowMs: () => performance.now() });
  const went: string[] = [];
  await pace.turn('first', MIB / 2, STAYS); // twice what there is: those that follow wait together

  await Promise.all([
    ...Array.from({ length: 3 }, () => pace.turn('greedy', WRITE_BYTES, STAYS).then(() => went.push('greedy'))),
    pace.turn('modest', WRITE_BYTES, STAYS).then(() => went.push('modest')),
  ]);

  t.deepEqual(went, ['greedy', 'modest', 'greedy', 'greedy']);
});

test('a download that leaves takes its turn with it, and nobody waits for that', async (t) => {
  let nowMs = 0;
  const pace = new Pace(MIB, { nowMs: () => nowMs });
  const leaving = new AbortController();
  await pace.turn('first', MIB / 2, STAYS); // twice what there is: those that follow wait together
  const ghosts = Array.from({ length: 1_000 }, () => pace.turn('hasty', WRITE_BYTES, leaving.signal));
  const honest = pace.turn('hasty', WRITE_BYTES, STAYS);

  leaving.abort();
  nowMs += 250; // what was owed is paid, and nothing more

  await honest;
  const outcomes = await Promise.allSettled([...ghosts, pace.turn('hasty', WRITE_BYTES, leaving.signal)]);
  t.true(outcomes.every(({ status }) => status === 'rejected'));
});

test('what goes out in a second is the limit, after the first burst', async (t) => {
  const start = performance.now();
  const pace = new Pace(8 * MIB, { nowMs: () => performance.now() });
  let bytes = 0;
  const one = async (source: string) => {
    for (let turn = 0; turn < 32; turn += 1) {
      await pace.turn(source, WRITE_BYTES, STAYS);
      bytes += WRITE_BYTES;
    }
  };

  await Promise.all(['a', 'b', 'c', 'd'].map(one)); // 8 MiB, of which 2 MiB are the burst

  const seconds = (performance.now() - start) / 1_000;
  t.is(bytes, 8 * MIB);
  t.true(seconds >= 0.7, `${seconds} s`);
});
