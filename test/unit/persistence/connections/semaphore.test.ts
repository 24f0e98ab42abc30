import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { createSemaphore } from '../../../../persistence/connections/semaphore.ts';

test('a semaphore bounds concurrent work, runs waiters in order, also after a failure, and refuses others at once', async (t) => {
  const semaphore = createSemaphore('reading', 2, 2);
  const begun: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<number>>();
  const start = (index: number) =>
    semaphore(async () => {
      begun.push(index);
      const end = Promise.withResolvers<number>();
      ends.set(index, end);
      return end.promise;
    });

  const [one, two, three, four] = [start(1), start(2), start(3), start(4)];
  await t.throwsAsync(start(5), { instanceOf: DatabaseUnavailable });
  t.deepEqual(begun, [1, 2]);

  ends.get(2)?.reject(new Error('broken'));
  await t.throwsAsync(two, { message: 'broken' });
  ends.get(1)?.resolve(1);
  t.is(await one, 1);
  await Promise.resolve();
  t.deepEqual(begun, [1, 2, 3, 4]);
  ends.get(3)?.resolve(3);
  ends.get(4)?.resolve(4);
  t.deepEqual(await Promise.all([three, four]), [3, 4]);

  const six = start(6);
  ends.get(6)?.resolve(6);
  t.is(await six, 6);
});

test('one whose turn does not come in time is refused, and takes no place later', async (t) => {
  const semaphore = createSemaphore('reading', 1, 2, 1);
  const end = Promise.withResolvers<number>();
  const one = semaphore(() => end.promise);

  const error = await t.throwsAsync(
    semaphore(() => Promise.reject(new Error('it must not begin'))),
    { instanceOf: DatabaseUnavailable },
  );

  t.regex(error?.message ?? '', /turn did not come/u);
  end.resolve(1);
  t.is(await one, 1);
  t.is(await semaphore(() => Promise.resolve(2)), 2);
});

test('what is to be done now is done where there is room for it, and takes the place of nobody', async (t) => {
  const semaphore = createSemaphore('reading', 2, 1);
  const end = Promise.withResolvers<number>();

  const first = semaphore.now(() => end.promise);
  const second = semaphore.now(() => Promise.reject(new Error('broken')));
  t.is(
    semaphore.now(() => Promise.resolve(3)),
    null,
  );
  await t.throwsAsync(second ?? Promise.resolve(), { message: 'broken' });
  t.is(await semaphore.now(() => Promise.resolve(4)), 4);
  end.resolve(1);
  t.is(await first, 1);
});
