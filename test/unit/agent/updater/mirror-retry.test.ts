import test from 'ava';
import { OUTCOME_MS_MAX } from '../../../../agent/update/outcomes.ts';
import { StatusProblem } from '../../../../agent/updater/mirror.ts';
import { BUSY_MS_MAX, inTurn } from '../../../../agent/updater/mirror-retry.ts';
import { LIMIT_MS } from '../../../../agent/updater/watch.ts';
import { silentLog } from '../../../support/log.ts';

test('one file is not waited for longer as another one came', async (t) => {
  const retries = { triesMax: 1, msMax: 60_000, waitSecondsMax: 0.01 };
  const { signal } = new AbortController();
  const waiting = { signal, retries, meanwhile: () => Promise.resolve(), log: silentLog };
  const asked: string[] = [];
  const busy = (file: string, times: number) => async (mirror: string) => {
    asked.push(file);
    if (asked.filter((one) => one === file).length > times) return file;
    throw new StatusProblem(`${mirror}/${file}`, 503, null);
  };

  const first = await inTurn(['http://a'], busy('first', 2), { ...waiting, untilMs: performance.now() + 60_000 });
  const second = inTurn(['http://a', 'http://b'], busy('second', 9), { ...waiting, untilMs: performance.now() });

  t.is(first, 'first');
  await t.throwsAsync(second, { message: 'http://a/second answered 503; http://b/second answered 503' });
  t.deepEqual(asked, ['first', 'first', 'first', 'second', 'second']);
});

test('an agent asks what came of an update for longer than that may wait for mirrors and be watched', (t) => {
  t.true(OUTCOME_MS_MAX > BUSY_MS_MAX + LIMIT_MS);
});
