/** Recordings in the console: waits that are cut short, where one stands, words that were shown. */
import test from 'ava';
import * as fc from 'fast-check';
import {
  countUntil,
  drawnSize,
  PLACES_MAX,
  placesOf,
  SIDE_MAX,
  tapeOf,
  withoutIdle,
} from '../../../../console/recordings/tape.ts';
import { castOf } from '../../../support/ssh/casts.ts';

const tape = (...events: readonly (readonly [number, string, string])[]) => {
  const read = tapeOf(castOf(events));
  if (read === null) throw new Error('it is no recording');
  return read;
};

test('what is no recording is none', (t) => {
  for (const text of ['', '{}', 'x', '{"version":1}']) t.is(tapeOf(text), null, text);
  t.deepEqual(tapeOf('{"version":2}')?.durationMs, 0);
});

test('waits are cut, and nothing else moves', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(100_000), { maxLength: 30 }),
      fc.integer({ min: 1, max: 5_000 }),
      (waits, idleMsMax) => {
        let atMs = 0;
        const read = tape(...waits.map((wait): [number, string, string] => [(atMs += wait) / 1_000, 'o', 'x']));
        const cut = withoutIdle(read, idleMsMax);

        const gaps = cut.events.map((event, place) => event.atMs - (cut.events[place - 1]?.atMs ?? 0));
        for (const [place, gap] of gaps.entries())
          t.true(Math.abs(gap - Math.min(waits[place] ?? 0, idleMsMax)) < 0.01, `${gap}`);
      },
    ),
  );
});

test('it stands behind all that has happened by then', (t) => {
  const read = tape([0, 'o', 'a'], [1, 'o', 'b'], [1, 'o', 'c'], [2.5, 'r', '90x30']);

  t.deepEqual(
    [-1, 0, 0.9, 1, 2.4, 2.5, 9].map((seconds) => countUntil(read, seconds * 1_000)),
    [0, 1, 1, 3, 3, 4, 4],
  );
});

test('words are found whatever their case and colours, also over the end of what came at once', (t) => {
  const read = tape([1, 'o', 'he\u001B[31mLL\u001B[0m'], [2, 'o', 'o world'], [3, 'i', 'hello'], [4, 'o', 'hello']);

  t.deepEqual(placesOf(read, 'Hello'), [1, 2]);
  t.deepEqual(placesOf(read, ''), []);
  t.deepEqual(placesOf(read, 'nobody'), []);
  t.is(
    placesOf(tape(...Array.from({ length: PLACES_MAX + 50 }, (_, at): [number, string, string] => [at, 'o', 'x'])), 'x')
      .length,
    PLACES_MAX,
  );
});

test('no size is drawn that a page could not bear', (t) => {
  t.deepEqual(drawnSize({ columns: 99_999, rows: 1 }), { columns: SIDE_MAX, rows: 1 });
});
