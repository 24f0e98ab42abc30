/** What is chosen of a list. */
import test from 'ava';
import {
  NOTHING,
  shareOf,
  toggled,
  withAll,
  withoutAll,
  withRange,
  type Selection,
} from '../../../console/selection.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const idAt = (place: number): string => IDS[place]!;
const of = (...ids: string[]): Selection => new Set(ids);

test('a row is chosen and no more, and what was chosen elsewhere stays', (t) => {
  const once = toggled(of('gone'), 'b');

  t.deepEqual(once, of('gone', 'b'));
  t.deepEqual(toggled(once, 'b'), of('gone'));
});

test('a range is chosen in either direction, and is one row where it would begin nowhere', (t) => {
  t.deepEqual(withRange(of('gone'), { from: 1, to: 3, idAt }), of('gone', 'b', 'c', 'd'));
  t.deepEqual(withRange(NOTHING, { from: 3, to: 1, idAt }), of('b', 'c', 'd'));
  t.deepEqual(withRange(NOTHING, { from: -1, to: 2, idAt }), of('c'));
});

test('all of a list are chosen, or none of them, and no change is the same selection', (t) => {
  const all = withAll(of('gone'), IDS);

  t.deepEqual(all, of('gone', ...IDS));
  t.is(withAll(all, IDS), all);
  t.deepEqual(withoutAll(all, IDS), of('gone'));
});

test('the box above all says whether all, some or none of the list are chosen', (t) => {
  const shares = [NOTHING, of('gone'), of('a'), of('e'), of('b', 'd', 'gone'), of(...IDS)];

  t.deepEqual(
    shares.map((chosen) => shareOf(chosen, IDS.length, idAt)),
    ['none', 'none', 'some', 'some', 'some', 'all'],
  );
  t.is(shareOf(of('a'), 0, idAt), 'none');
});
