/** Flows take turns, whatever comes in which order. */
import test from 'ava';
import * as fc from 'fast-check';
import { createFairQueue } from '../../../../persistence/ssh/fair-queue.ts';

/** A queue whose work ends when a test says so, and the flows whose work began, in order. */
function fixture(runningMax: number, waitingMax: number) {
  const queue = createFairQueue({ runningMax, waitingMax });
  const began: string[] = [];
  const ends: (() => void)[] = [];
  const add = (flow: string) =>
    queue(flow, async () => {
      began.push(flow);
      await new Promise<void>((resolve) => {
        ends.push(resolve);
      });
      return flow;
    });
  const settle = () => new Promise(setImmediate);
  return {
    began,
    add,
    settle,
    end: async () => {
      ends.shift()?.();
      await settle();
    },
  };
}

test('a flow with much to do waits its turn behind each other flow', async (t) => {
  const { began, add, settle, end } = fixture(1, 16);
  const all = ['a', 'a', 'a', 'a', 'b', 'c', 'c'].map(add);
  await settle();
  for (let index = 0; index < all.length; index += 1) await end();

  t.deepEqual(began, ['a', 'a', 'b', 'c', 'a', 'c', 'a']);
  t.deepEqual(await Promise.all(all), ['a', 'a', 'a', 'a', 'b', 'c', 'c']);
});

test('a full queue takes in a flow that has less, in place of the youngest of the one that has most', async (t) => {
  const { began, add, settle, end } = fixture(1, 4);
  const crowd = Array.from({ length: 5 }, () => add('crowd'));
  t.is(await add('crowd'), null, 'no room for one more of the crowd');

  const newcomer = add('new');
  t.is(await crowd[4], null, 'its youngest gave way');
  const second = add('new');
  t.is(await crowd[3], null);
  t.is(await add('new'), null, 'as many as the crowd has by now');
  await settle();
  for (let index = 0; index < 5; index += 1) await end();

  t.deepEqual(await Promise.all([...crowd.slice(0, 3), newcomer, second]), ['crowd', 'crowd', 'crowd', 'new', 'new']);
  t.deepEqual(began, ['crowd', 'crowd', 'new', 'crowd', 'new']);
});

test('work that fails leaves its place to the next', async (t) => {
  const queue = createFairQueue({ runningMax: 1, waitingMax: 4 });

  await t.throwsAsync(
    queue('a', async () => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  );

  t.is(await queue('a', async () => Promise.resolve('next')), 'next');
});

test('whatever comes and ends: bounds hold, all that was taken is done once, and nothing stays behind', async (t) => {
  const step = fc.oneof(
    fc.constantFrom('a', 'b', 'c', 'd').map((flow) => ({ type: 'add' as const, flow })),
    fc.constant({ type: 'end' as const }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 6 }),
      fc.array(step, { maxLength: 60 }),
      async (runningMax, waitingMax, steps) => {
        const { began, add, settle, end } = fixture(runningMax, waitingMax);
        const results: (string | null)[] = [];
        let added = 0;
        let ended = 0;
        for (const one of steps) {
          if (one.type === 'add') {
            added += 1;
            void add(one.flow).then((result) => results.push(result));
          } else if (ended < began.length) {
            ended += 1;
            await end();
          }
          await settle();
          t.true(began.length - ended <= runningMax);
          t.true(added - results.length - (began.length - ended) <= waitingMax);
        }
        for (; ended < began.length; ended += 1) await end();

        t.is(results.length, added);
        t.deepEqual(results.filter((result) => result !== null).toSorted(), began.toSorted());
      },
    ),
    { numRuns: 200 },
  );
});
