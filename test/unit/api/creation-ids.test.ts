/** Ids in the order of their making. */
import test from 'ava';
import { z } from 'zod';
import { createIds } from '../../../api/creation-ids.ts';

test('ids made within one ms, more of them than a ms has room for, sort in the order of their making', (t) => {
  const newId = createIds(() => 1_700_000_000_000);

  const ids = Array.from({ length: 10_000 }, newId);

  t.deepEqual(ids.toSorted(), ids);
  t.is(new Set(ids).size, ids.length);
  t.true(ids.every((id) => z.uuidv7().safeParse(id).success));
});

test('a clock that goes back does not disorder ids', (t) => {
  const times = [2_000, 1_000, 1_500, 2_001];
  const newId = createIds(() => times.shift() ?? 0);

  const ids = Array.from({ length: 4 }, newId);

  t.deepEqual(ids.toSorted(), ids);
  t.is(Number.parseInt(ids[0]?.replace('-', '').slice(0, 12) ?? '', 16), 2_000);
});
