import { join } from 'node:path';
import test from 'ava';
import { until } from '../until.ts';
import { Places, PLACES_MAX, PLACES_MIN, takePlace } from './places.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Time between two looks, in ms. */
const LOOK_MS = 20;

test('four files have places on a machine that computes, eight on one with nothing to do, and an ended one makes room', async (t) => {
  const path = join(temporaryDirectory(t), 'socket');
  const time = { all: 0, idle: 0 };
  let idleShare = 0.15;
  let looks = 0;
  const places = await Places.open(
    path,
    () => {
      looks += 1;
      time.all += 100;
      time.idle += 100 * idleShare;
      return { ...time };
    },
    LOOK_MS,
  );
  t.teardown(() => {
    places.close();
  });
  const given: (() => void)[] = [];
  for (let file = 0; file < PLACES_MAX + 2; file += 1) void takePlace(path).then((leave) => given.push(leave));

  await until('the first', () => given.length === PLACES_MIN);
  const looksThen = looks;
  await until('some looks', () => looks > looksThen + 5);
  t.is(given.length, PLACES_MIN, 'processors that compute most of the time are left alone');

  idleShare = 0.5;
  await until('all places', () => given.length === PLACES_MAX);
  const looksAtMost = looks;
  await until('some more looks', () => looks > looksAtMost + 5);
  t.deepEqual([given.length, places.running], [PLACES_MAX, PLACES_MAX]);

  for (const leave of given.splice(0, 1)) leave();
  await until('a place that is given on', () => given.length === PLACES_MAX);

  idleShare = 0;
  const looksBusy = looks;
  await until('looks that find no time', () => looks > looksBusy + PLACES_MAX);
  for (const leave of given.splice(0, PLACES_MAX - PLACES_MIN)) leave();
  await until('none of them to be given on', () => places.running === PLACES_MIN);
  const looksAtEnd = looks;
  await until('looks at the end', () => looks > looksAtEnd + 5);
  t.deepEqual([given.length, places.running], [PLACES_MIN, PLACES_MIN]);
  for (const leave of given.splice(0, 1)) leave();
  await until('one more, below four', () => given.length === PLACES_MIN);
});
