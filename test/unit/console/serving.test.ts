/** Which admin a page is connected to: as it says itself, whenever it is another one. */
import { mock } from 'node:test';
import { setImmediate as aTurn } from 'node:timers/promises';
import test from 'ava';
import { followServing, SERVING_AGAIN_MS, serving, type Serving } from '../../../console/serving.ts';

test.serial('each connection tells which admin it leads to; none is named while nobody can say it', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const answers: (Serving | null)[] = [
    { name: 'admin-1', version: '1.0.0' },
    null, // its database is away
    { name: 'admin-2', version: '2.0.0' },
  ];
  const follow = followServing(() => {
    const answer = answers.shift();
    return answer == null ? Promise.reject(new Error('503')) : Promise.resolve({ ...answer, role: 'admin' });
  });

  follow.ask();
  await aTurn();
  t.deepEqual(serving.value, { name: 'admin-1', version: '1.0.0' });
  follow.ask();
  await aTurn();
  t.is(serving.value, null);
  mock.timers.tick(SERVING_AGAIN_MS);
  await aTurn();

  t.deepEqual(serving.value, { name: 'admin-2', version: '2.0.0' });
});

test.serial('an admin whose answer comes after that of the next connection is not named', async (t) => {
  const answers = [Promise.withResolvers<Serving>(), Promise.withResolvers<Serving>()] as const;
  let asked = 0;
  const follow = followServing(() => answers[asked++ === 0 ? 0 : 1].promise);

  follow.ask();
  follow.ask();
  answers[1].resolve({ name: 'after', version: '1' });
  answers[0].resolve({ name: 'before', version: '1' });
  await aTurn();

  t.is(serving.value?.name, 'after');
});

test.serial('nothing is asked once it is stopped: a question would dial again', (t) => {
  let asked = 0;
  const follow = followServing(() => {
    asked += 1;
    return Promise.reject(new Error('closed'));
  });

  follow.stop();
  follow.ask();

  t.is(asked, 0);
});
