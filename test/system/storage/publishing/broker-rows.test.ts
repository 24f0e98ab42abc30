/**
 * Events for the broker: in order, none forgotten, the old ones left out and counted, and nothing moved on by whoever
 * lost the channel.
 */
import test from 'ava';
import { envelope, EVENT_TYPES } from '../../../../actors/events.ts';
import { topicOf } from '../../../../actors/event-topics.ts';
import {
  advanceBroker,
  backlogOf,
  BATCH_BYTES_MAX,
  nextForBroker,
  type BrokerBatch,
} from '../../../../persistence/publishing/broker-rows.ts';
import { BROKER_CHANNEL } from '../../../../persistence/publishing/names.ts';
import { createRecords } from '../../../../persistence/ownership/ownerless-writes.ts';
import { claimChannel, heldChannel, openTransaction, OTHER_ADMIN, storeEvent, type Held } from './fixture.ts';
import { column } from '../../../support/database/columns.ts';

const held = (t: Parameters<typeof heldChannel>[0]) => heldChannel(t, BROKER_CHANNEL);
const next = ({ pool, epoch }: Held, after: BrokerBatch | null = null, limit = 500, ageMsMax = 1e13) =>
  nextForBroker(pool, epoch, after, limit, ageMsMax, 'core');

test('a batch is what is stored behind the place of the channel, and the place moves only when it is told', async (t) => {
  const fixture = await held(t);
  const cursors = [await storeEvent(fixture.pool), await storeEvent(fixture.pool)];

  const first = await next(fixture);
  const again = await next(fixture);
  t.true(await advanceBroker(fixture.pool, fixture.epoch, first?.to ?? ''));

  t.deepEqual(
    [first?.events.length, first?.to, first?.more, first?.unsettled, first?.tooOld],
    [2, cursors[1], false, false, 0],
  );
  t.deepEqual(again?.events, first?.events);
  t.deepEqual(await next(fixture).then((batch) => [batch?.events, batch?.to, batch?.more]), [[], null, false]);
});

test('the text is the JSON of the envelope, byte for byte, with its topic and subject', async (t) => {
  const fixture = await held(t);
  const records = createRecords(fixture.pool);
  const messages = [
    'ünïcode 日本語 😀',
    'quotes " \\ / and \b\f\n\r\t',
    '\u2028\u2029',
    '\u001E\u001F\u0000',
    '</script>',
    '',
  ];
  const stored = [];
  for (const message of messages)
    stored.push(
      await records.publish({
        type: 'edge.core.test',
        subject: crypto.randomUUID(),
        atMs: Date.UTC(2026, 0, 1, 0, 0, 0, 70 + stored.length),
        data: { message, requested_at: '2026-01-01T00:00:00.000Z' },
      }),
    );

  const batch = await next(fixture);

  t.deepEqual(
    batch?.events,
    stored.map((event) => ({
      id: event.id,
      type: event.type,
      subject: event.subject,
      topic: 'edge-core-events',
      coreName: 'core',
      text: JSON.stringify(envelope(event, 'core')),
    })),
  );
});

test('every type has its topic', async (t) => {
  const fixture = await held(t);
  for (const type of EVENT_TYPES) await storeEvent(fixture.pool, undefined, { type });

  const batch = await next(fixture);

  t.deepEqual(
    batch?.events.map(({ type, topic }) => [type, topic]),
    EVENT_TYPES.map((type) => [type, topicOf(type)]),
  );
});

test('a long backlog comes in batches that join without a gap', async (t) => {
  const fixture = await held(t);
  const { client, commit } = await openTransaction(fixture);
  const subjects = Array.from({ length: 23 }, () => crypto.randomUUID());
  for (const subject of subjects) await storeEvent(client, subject);
  await commit();

  const read: string[] = [];
  let batch = await next(fixture, null, 5);
  for (; batch?.more === true; batch = await next(fixture, batch, 5))
    read.push(...batch.events.map(({ subject }) => subject));
  read.push(...(batch?.events.map(({ subject }) => subject) ?? []));

  t.deepEqual(read, subjects);
});

test('large events come in batches of a bounded size, and one that is larger than that comes alone', async (t) => {
  const fixture = await held(t);
  const sizes = [BATCH_BYTES_MAX + 1, 1, BATCH_BYTES_MAX / 2, BATCH_BYTES_MAX / 3, BATCH_BYTES_MAX / 3, 1];
  for (const size of sizes) await storeEvent(fixture.pool, undefined, { data: JSON.stringify('x'.repeat(size)) });

  const counts: (number | undefined)[] = [];
  let batch = await next(fixture);
  for (; batch?.more === true; batch = await next(fixture, batch)) counts.push(batch.events.length);

  t.deepEqual([...counts, batch?.events.length], [1, 3, 2]);
});

test('what commits late is waited for: nothing newer goes before it', async (t) => {
  const fixture = await held(t);
  const slow = await openTransaction(fixture);
  const [late, newer] = [crypto.randomUUID(), crypto.randomUUID()];
  await storeEvent(slow.client, late);
  await storeEvent(fixture.pool, newer);

  const before = await next(fixture);
  await slow.commit();

  t.deepEqual([before?.events, before?.to, before?.unsettled], [[], null, true]);
  t.deepEqual(column((await next(fixture))?.events, 'subject'), [late, newer]);
});

test('events that are too old are left out and counted, and the place goes on behind them', async (t) => {
  const fixture = await held(t);
  const fresh = crypto.randomUUID();
  const HOUR_MS = 3_600_000;
  const oldest = Date.now() - HOUR_MS;
  for (const time of [oldest - 5_000, oldest - 1]) await storeEvent(fixture.pool, undefined, { time: new Date(time) });
  await storeEvent(fixture.pool, fresh, { time: new Date(oldest + 60_000) });
  const last = await storeEvent(fixture.pool, undefined, { time: new Date(oldest - 9) });

  const batch = await next(fixture, null, 500, HOUR_MS);
  const onlyOld = await next(fixture, null, 2, HOUR_MS);

  t.deepEqual([batch?.events.map(({ subject }) => subject), batch?.tooOld, batch?.to], [[fresh], 3, last]);
  t.deepEqual([onlyOld?.events, onlyOld?.tooOld, onlyOld?.more], [[], 2, true]);
});

test('the age of an event counts from its storage, whatever its own time, and from its own time without a stored one', async (t) => {
  const fixture = await held(t);
  const late = crypto.randomUUID();
  const time = new Date(Date.now() - 7_200_000);
  await storeEvent(fixture.pool, late, { time, storedAt: new Date() });
  await storeEvent(fixture.pool, undefined, { time, storedAt: null });
  await storeEvent(fixture.pool, undefined, { storedAt: time });

  const batch = await next(fixture, null, 500, 3_600_000);

  t.deepEqual([column(batch?.events, 'subject'), batch?.tooOld], [[late], 2]);
});

test('whoever lost the channel reads nothing and moves nothing (O1)', async (t) => {
  const fixture = await held(t);
  await storeEvent(fixture.pool);
  const batch = await next(fixture);
  await fixture.pool.query(
    `update event_channel set lease_until = clock_timestamp() - interval '1 ms' where name = $1`,
    [BROKER_CHANNEL],
  );

  t.deepEqual([await next(fixture), await advanceBroker(fixture.pool, fixture.epoch, batch?.to ?? '')], [null, false]);
  const epoch = await claimChannel(fixture.pool, BROKER_CHANNEL, OTHER_ADMIN);
  t.deepEqual([await next(fixture), await advanceBroker(fixture.pool, fixture.epoch, batch?.to ?? '')], [null, false]);

  t.deepEqual((await next({ ...fixture, epoch }))?.events, batch?.events);
});

test('the backlog is what the channel has not taken, counted up to a limit', async (t) => {
  const fixture = await held(t);
  const backlog = (limit = 100) => backlogOf(fixture.pool, BROKER_CHANNEL, limit);
  t.is(await backlog(), 0);
  for (let event = 0; event < 7; event += 1) await storeEvent(fixture.pool);

  const batch = await next(fixture, null, 3);
  t.deepEqual([await backlog(), await backlog(5)], [7, 5]);
  await advanceBroker(fixture.pool, fixture.epoch, batch?.to ?? '');

  t.is(await backlog(), 4);
  t.is(await backlogOf(fixture.pool, 'nobody', 100), 0);
});

test('what is no place is a bug, and moves nothing', async (t) => {
  const fixture = await held(t);

  await t.throwsAsync(() => advanceBroker(fixture.pool, fixture.epoch, 'nonsense'), { message: /No place/u });
});
