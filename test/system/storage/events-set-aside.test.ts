/** Events for which no partition was made, and which are too many to be looked through each time that one is. */
import test from 'ava';
import { dropOldest, keepAhead } from '../../../persistence/event-partitions/upkeep.ts';
import { before, DATABASE_NOW } from '../../../persistence/sweeps/timestamps.ts';
import { storeEvents } from '../../support/database/stored-rows.ts';
import { until } from '../../support/until.ts';
import { opened, WEEK } from './event-partitions-fixture.ts';

const WEEK_MS = WEEK * 86_400_000;

test('an overfull default partition becomes a bounded one, and an empty partition becomes the default', async (t) => {
  const { pool, reads, pass, partitions, counts } = await opened(t);
  const { cursor } = await reads.eventsAfter(null, 1);
  await pass(5_000_000);
  await storeEvents(pool, 2, '9 days');
  const there = await partitions();

  await until('partitions', () => keepAhead(pool, WEEK, { aheadBytesMax: 0 }));
  await storeEvents(pool, 3, '9 days'); // they go where those before them went
  await pass(20_000);
  await storeEvents(pool, 4);

  const made = (await partitions()).slice(there.length);
  t.true(made.length > 1, 'and others were made behind it');
  t.deepEqual(
    made.slice(1).map(([from]) => from),
    made.slice(0, -1).map(([, to]) => to),
  );
  t.deepEqual(
    (await counts()).toSorted(([, one], [, other]) => Number(one) - Number(other)),
    [
      ['event_from_', 4],
      ['event_from_', 5],
    ],
  );
  const { rows } = await pool.query<{ id: string }>('select id from event order by seq');
  t.deepEqual(
    (await reads.eventsAfter(cursor, 100)).events.map(({ id }) => id),
    rows.map(({ id }) => id),
  );
  await pass(100_000_000); // what no partition is for is stored and looked after as ever
  await storeEvents(pool, 6);
  await until('partitions', () => keepAhead(pool, WEEK, { aheadBytesMax: 0 }));
  while (await dropOldest(pool, before(DATABASE_NOW, WEEK_MS)));
  t.deepEqual(
    (await counts()).toSorted(([, one], [, other]) => Number(one) - Number(other)),
    [
      ['event_from_', 4],
      ['event_from_', 6],
    ],
    'those of before went with their partition',
  );
});

test('what lies before and behind another partition, or takes too long to look through, stays in the default one', async (t) => {
  const { pool, pass, partitions, counts } = await opened(t);
  await pass(5_000_000);
  await storeEvents(pool, 20_000);
  const there = await partitions();

  t.false(await keepAhead(pool, WEEK, { aheadBytesMax: 0, setAsideMsMax: 1 }), 'a millisecond for all of it');
  t.deepEqual(await partitions(), there);
  await until('partitions', () => keepAhead(pool, WEEK));
  await pass(100_000_000);
  await storeEvents(pool, 1);
  const made = await partitions();

  t.false(await keepAhead(pool, WEEK, { aheadBytesMax: 0 }));
  t.deepEqual(await partitions(), made);
  t.deepEqual(await counts(), [['event_ahead', 20_001]]);
});
