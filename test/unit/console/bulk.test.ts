/** One thing done to many: a few calls at a time, also over a connection that comes and goes. */
import test from 'ava';
import { BULK_AT_ONCE, doEach, UNSENT_MS_MAX, untilSent, type BulkProgress } from '../../../console/bulk.ts';
import { NotSent } from '../../../console/failure.ts';

test('some are done at a time, what failed is told in order with why, and the others are done all the same', async (t) => {
  let [atOnce, most] = [0, 0];
  const told: BulkProgress[] = [];
  const ids = Array.from({ length: 20 }, (_, index) => `id-${index}`);

  const end = await doEach({
    ids,
    perCall: 1,
    async act([id = '']) {
      most = Math.max(most, (atOnce += 1));
      await Promise.resolve();
      atOnce -= 1;
      if (id.endsWith('3')) throw new Error('not this one');
      return [];
    },
    wordsOf: (error) => (error as Error).message,
    told: (progress) => told.push(progress),
    signal: new AbortController().signal,
  });

  const failed = ['id-3', 'id-13'].map((id) => ({ id, why: 'not this one' }));
  t.deepEqual(end, { total: 20, done: 20, failed, isOver: true });
  t.is(most, BULK_AT_ONCE);
  t.deepEqual(
    told.map(({ done }) => done),
    [...Array.from({ length: 21 }, (_, done) => done), 20],
  );
});

test('some are done by one call, of which some fail, or all', async (t) => {
  const calls: (readonly string[])[] = [];
  const end = await doEach({
    ids: ['a', 'b', 'c', 'd', 'e'],
    perCall: 2,
    act(some) {
      calls.push(some);
      return some.includes('e')
        ? Promise.reject(new Error('away'))
        : Promise.resolve(some.includes('b') ? [{ id: 'b', why: 'not this one' }] : []);
    },
    wordsOf: (error) => (error as Error).message,
    told: () => {},
    signal: new AbortController().signal,
  });

  t.deepEqual(calls, [['a', 'b'], ['c', 'd'], ['e']]);
  t.deepEqual(end.failed, [
    { id: 'b', why: 'not this one' },
    { id: 'e', why: 'away' },
  ]);
  t.is(end.done, 5);
});

test('after a stop nothing is begun', async (t) => {
  const stop = new AbortController();
  const end = await doEach({
    ids: Array.from({ length: 100 }, (_, index) => `id-${index}`),
    perCall: 1,
    async act() {
      await Promise.resolve();
      stop.abort();
      return [];
    },
    wordsOf: String,
    told: () => {},
    signal: stop.signal,
  });

  t.deepEqual(end, { total: 100, done: BULK_AT_ONCE, failed: [], isOver: true });
});

/** A bulk over a link that says so many times that there is no connection. `waited`: told whenever it waits for one. */
function bulkOver(notSent: number, stop: AbortController, waited = (_nowMs: number): void => {}) {
  let nowMs = 0;
  const ids = Array.from({ length: 100 }, (_, index) => `id-${index}`);
  const calls: string[] = [];
  const act = async ([id = '']: readonly string[]): Promise<[]> => {
    calls.push(id);
    return calls.length > BULK_AT_ONCE && calls.length <= BULK_AT_ONCE + notSent
      ? Promise.reject(new Error('not sent', { cause: new NotSent() }))
      : Promise.resolve([]);
  };
  const wait = async (ms: number): Promise<void> => {
    nowMs += ms / BULK_AT_ONCE; // all of them wait at once
    return Promise.resolve(waited(nowMs));
  };
  return {
    ids,
    calls,
    end: doEach({
      ids,
      perCall: 1,
      act: untilSent(act, stop.signal, { wait, nowMs: () => nowMs }),
      wordsOf: (error) => (error as Error).message,
      told: () => {},
      signal: stop.signal,
    }),
  };
}

test('a connection that is lost for a while fails none of them, and each is done once', async (t) => {
  const { ids, calls, end } = bulkOver(50, new AbortController());

  t.deepEqual(await end, { total: 100, done: 100, failed: [], isOver: true });
  t.deepEqual([calls.length, new Set(calls)], [150, new Set(ids)]);
});

test('while there is no connection a stop ends it: nothing more is tried, and what was not sent has failed', async (t) => {
  const stop = new AbortController();
  let waits = 0;
  const { calls, end } = bulkOver(Infinity, stop, () => {
    waits += 1;
    if (waits === 3 * BULK_AT_ONCE) stop.abort();
  });

  const { done, failed } = await end;

  t.deepEqual([done, failed.length], [2 * BULK_AT_ONCE, BULK_AT_ONCE]);
  t.is(failed[0]?.why, 'not sent');
  t.is(calls.length, 4 * BULK_AT_ONCE);
});

test('a connection that does not come back is waited for once: the rest has failed then, and can be tried again', async (t) => {
  let waitedMs = 0;
  const { calls, end } = bulkOver(Infinity, new AbortController(), (nowMs) => {
    waitedMs = nowMs;
  });

  const { done, failed } = await end;

  t.deepEqual([done, failed.length], [100, 100 - BULK_AT_ONCE]);
  t.true(waitedMs >= UNSENT_MS_MAX && waitedMs <= UNSENT_MS_MAX + 1_000, `${waitedMs} ms`);
  t.true(calls.length <= 100 + (BULK_AT_ONCE * waitedMs) / 1_000);
});
