/** What many ask for is read once for all of them. */
import test from 'ava';
import { kept } from '../../../../transport/net/kept.ts';

const KEPT_MS = 5_000;

/** Answers are numbered. Each is to be given by hand. */
function keptNumbers() {
  let nowMs = 0;
  let reads = 0;
  let waiting = Promise.withResolvers<void>();
  const ask = kept(
    async () => {
      reads += 1;
      const number = reads;
      await waiting.promise;
      return number;
    },
    KEPT_MS,
    () => nowMs,
  );
  return {
    ask,
    reads: () => reads,
    pass: (ms: number) => {
      nowMs += ms;
    },
    answer: () => waiting.resolve(),
    fail: (why: Error) => {
      waiting.reject(why);
      waiting = Promise.withResolvers();
    },
  };
}

test('a thousand who ask cost one read, while it is under way and for as long as it is kept', async (t) => {
  const { ask, answer, pass, reads } = keptNumbers();

  const asked = Array.from({ length: 1_000 }, () => ask());
  answer();
  t.deepEqual(new Set(await Promise.all(asked)), new Set([1]));
  pass(KEPT_MS - 1);
  t.deepEqual(new Set(await Promise.all(Array.from({ length: 1_000 }, () => ask()))), new Set([1]));

  t.is(reads(), 1);
});

test('it is read anew once it was kept for long enough, from when it was there', async (t) => {
  const { ask, answer, pass } = keptNumbers();
  const first = ask();
  pass(10 * KEPT_MS);
  answer();
  await first;

  pass(KEPT_MS - 1);
  t.is(await ask(), 1);
  pass(1);
  t.is(await ask(), 2);
});

test('one that takes longer than it is kept is not begun again before it is over', async (t) => {
  const { ask, answer, pass, reads } = keptNumbers();
  const asked = [ask()];
  for (let round = 0; round < 10; round += 1) {
    pass(KEPT_MS);
    asked.push(ask());
  }

  t.is(reads(), 1);
  answer();
  t.deepEqual(new Set(await Promise.all(asked)), new Set([1]));
});

test('a failure is told to all who wait for it, and to nobody after them', async (t) => {
  const { ask, answer, fail, reads } = keptNumbers();
  const asked = [ask(), ask()];

  fail(new Error('away'));
  const told = await Promise.allSettled(asked);
  t.deepEqual(
    told.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  answer();
  t.is(await ask(), 2);
  t.is(reads(), 2);
});
