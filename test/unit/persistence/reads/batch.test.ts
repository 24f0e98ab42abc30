/** Look-ups that share queries: which go together, and when a query begins. */
import test from 'ava';
import { setImmediate as aTurn } from 'node:timers/promises';
import { batched, type BatchOptions } from '../../../../persistence/reads/batch.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

/** Look-ups of numbers whose queries end when a test says so; what each query was asked. */
function lookingUp(options: BatchOptions) {
  const clock = createFakeClock();
  const queries: { readonly keys: readonly number[]; readonly end: () => void }[] = [];
  const find = batched(
    (keys: readonly number[]) =>
      new Promise<readonly number[]>((resolve) => {
        queries.push({ keys, end: () => resolve(keys.map((key) => key * 10)) });
      }),
    { ...options, clock: { nowMs: () => clock.nowMs(), after: (ms, run) => void clock.after(ms, run) } },
  );
  const asked = () => queries.map(({ keys }) => keys);
  return { clock, find, queries, asked };
}

test('what is asked in one turn is one query, and two run at a time', async (t) => {
  const { find, queries, asked } = lookingUp({ keysMax: 2 });

  const found = Promise.all([1, 2, 3, 4, 5].map(find));
  await aTurn();
  t.deepEqual(asked(), [
    [1, 2],
    [3, 4],
  ]);
  for (const { end } of queries) end();
  await aTurn();
  queries.at(-1)?.end();

  t.deepEqual(await found, [10, 20, 30, 40, 50]);
});

test('the first query begins at once, and the next one so much later, with all that was asked meanwhile', async (t) => {
  const { clock, find, queries, asked } = lookingUp({ apartMs: 10 });

  const first = find(1);
  await aTurn();
  t.deepEqual(asked(), [[1]]);
  queries[0]?.end();
  t.is(await first, 10);

  const others = [2, 3].map((key) => find(key));
  await aTurn();
  clock.pass(9);
  const last = find(4);
  await aTurn();
  t.deepEqual(asked(), [[1]], 'it is not time yet');
  clock.pass(1);
  await aTurn();
  t.deepEqual(asked(), [[1], [2, 3, 4]]);
  queries[1]?.end();
  t.deepEqual(await Promise.all([...others, last]), [20, 30, 40]);

  clock.pass(10);
  void find(5);
  await aTurn();
  t.deepEqual(asked().at(-1), [5], 'at once again after a while');
});
