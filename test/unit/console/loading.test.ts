/** What is loaded when it is wanted: tried until it is there. */
import { mock } from 'node:test';
import { setImmediate as aTurn } from 'node:timers/promises';
import test from 'ava';
import { LOAD_AGAIN_MS, loadUntilThere } from '../../../console/loading.ts';

test('what could not be loaded is tried again until it is there, or nobody wants it any more', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const told: string[] = [];
  let isAway = true;
  let tries = 0;
  const load = () => {
    tries += 1;
    return isAway ? Promise.reject(new Error('Failed to fetch')) : Promise.resolve('chart');
  };
  const begin = () =>
    loadUntilThere(
      load,
      (loaded) => void told.push(loaded),
      () => void told.push('failed'),
    );
  const pass = async (ms: number) => {
    mock.timers.tick(ms);
    await aTurn();
  };

  begin();
  const stop = begin();
  await aTurn();
  stop();
  await pass(LOAD_AGAIN_MS - 1);
  t.deepEqual([told, tries], [['failed', 'failed'], 2]);
  await pass(1);
  isAway = false;
  await pass(LOAD_AGAIN_MS);
  await pass(LOAD_AGAIN_MS);

  t.deepEqual([told, tries], [['failed', 'failed', 'failed', 'chart'], 4]);
});
