import test from 'ava';
import {
  EVENTS_NET_MS,
  EVENTS_PER_READ,
  EVENTS_POLL_MS,
  FEED_RETRY_MS,
  REMEMBERED_EVENTS_BYTES_MAX,
} from '../../../../api/feeds/limits.ts';
import { EVENTS_READ_BYTES_MAX } from '../../../../persistence/reads/events.ts';
import { AT, createFixture, idOf, settle } from '../../../support/api/rows.ts';
import { eventIds, eventOf, store, storeSized, turns, watch } from './events-fixture.ts';

test('a watcher hears of every event that is stored from now on', async (t) => {
  const fixture = createFixture();
  store(fixture, 1);
  const watching = await watch(fixture);

  store(fixture, 2);
  await turns(fixture, 2);

  t.deepEqual(watching.messages[0], { type: 'started' });
  t.deepEqual(watching.ids, ['1', '3']);
  t.deepEqual(eventIds(watching.messages), [idOf(2), idOf(3)]);
  t.like(watching.messages[1], {
    events: [
      {
        specversion: '1.0',
        source: '/edge-fleet-control',
        type: 'edge.node.registered',
        corename: 'default',
        time: AT,
      },
    ],
  });
});

test('a watcher that comes back hears what it missed, each event once', async (t) => {
  const fixture = createFixture();
  const first = await watch(fixture);
  store(fixture, 1);
  await turns(fixture, 2);
  first.gone();
  await first.ended;
  store(fixture, 1_200);

  const second = await watch(fixture, { lastEventId: first.ids.at(-1) });
  await turns(fixture, 5);
  store(fixture, 3);
  await turns(fixture, 3);

  t.deepEqual(
    eventIds(second.messages),
    Array.from({ length: 1_203 }, (_none, n) => idOf(n + 2)),
  );
});

test('a watcher that asks for the latest begins with these, and misses nothing that comes meanwhile', async (t) => {
  const fixture = createFixture();
  store(fixture, 5);
  const others = await watch(fixture);
  store(fixture, 1);
  await turns(fixture, 2);

  const watching = await watch(fixture, { latest: 3 });
  store(fixture, 2);
  await turns(fixture, 3);

  t.deepEqual(watching.messages[0], { type: 'started' });
  t.is(watching.ids[0], '3', 'the place before them, so that a connection that is lost at once costs none');
  t.deepEqual(eventIds(watching.messages), [4, 5, 6, 7, 8].map(idOf));
  t.deepEqual(eventIds(others.messages), [6, 7, 8].map(idOf));
});

test('the latest are those of the types that were asked for, and no others come first', async (t) => {
  const fixture = createFixture();
  store(fixture, 2, 'edge.core.test');
  store(fixture, 3);

  const watching = await watch(fixture, { types: ['edge.core.test'], latest: 1 });
  await turns(fixture, 2);

  t.deepEqual(eventIds(watching.messages), [idOf(2)]);
});

test('who says where it was is told what came since, however many of the latest it asks for', async (t) => {
  const fixture = createFixture();
  store(fixture, 5);

  const watching = await watch(fixture, { latest: 5, lastEventId: '4' });
  await turns(fixture, 2);

  t.deepEqual(eventIds(watching.messages), [idOf(5)]);
});

test('only the types that were asked for are told', async (t) => {
  const fixture = createFixture();
  const watching = await watch(fixture, { types: ['edge.core.test'] });

  store(fixture, 2);
  store(fixture, 1, 'edge.core.test');
  await turns(fixture, 2);

  t.deepEqual(eventIds(watching.messages), [idOf(3)]);
});

test('one who hears nothing for a long stretch is still told how far the log is', async (t) => {
  const fixture = createFixture();
  const watching = await watch(fixture, { types: ['edge.core.test'] });

  store(fixture, EVENTS_PER_READ);
  await turns(fixture, 3);

  t.is(watching.ids.at(-1), String(EVENTS_PER_READ));
});

test('one who hears nothing for many short stretches is told how far the log is, once for a read of it', async (t) => {
  const fixture = createFixture();
  const watching = await watch(fixture, { types: ['edge.core.test'] });

  for (let stretch = 0; stretch < 25; stretch += 1) {
    store(fixture, EVENTS_PER_READ / 10);
    await turns(fixture, 1);
  }

  t.deepEqual(watching.ids, ['0', String(EVENTS_PER_READ), String(2 * EVENTS_PER_READ)]);
});

test('a message of what was asked for counts as news of how far the log is', async (t) => {
  const fixture = createFixture();
  const watching = await watch(fixture, { types: ['edge.core.test'] });

  store(fixture, EVENTS_PER_READ - 1);
  await turns(fixture, 1);
  store(fixture, 1, 'edge.core.test');
  await turns(fixture, 1);
  store(fixture, EVENTS_PER_READ - 1);
  await turns(fixture, 1);

  t.deepEqual(watching.ids, ['0', String(EVENTS_PER_READ)]);
});

test('events with long scripts come in messages of a bounded size, one after the other, and a larger one by itself', async (t) => {
  const fixture = createFixture();
  const watching = await watch(fixture);
  const sizes = [EVENTS_READ_BYTES_MAX + 1, ...Array.from({ length: 11 }, () => EVENTS_READ_BYTES_MAX / 5)];

  storeSized(fixture, sizes);
  await turns(fixture, 6);

  t.deepEqual(
    watching.messages.flatMap((message) => (message.type === 'events' ? [message.events.length] : [])),
    [1, 5, 5, 1],
  );
});

test('one who hears nothing for a stretch of long scripts is told how far the log is', async (t) => {
  const fixture = createFixture();
  const watching = await watch(fixture, { types: ['edge.core.test'] });

  storeSized(fixture, [EVENTS_READ_BYTES_MAX, 1]);
  await turns(fixture, 3);

  t.is(watching.ids.at(-1), '1');
});

test('what is kept for those who are behind is bounded by its bytes', async (t) => {
  const fixture = createFixture();
  await watch(fixture);
  const count = REMEMBERED_EVENTS_BYTES_MAX / EVENTS_READ_BYTES_MAX;
  storeSized(
    fixture,
    Array.from({ length: count + 4 }, () => EVENTS_READ_BYTES_MAX),
  );
  await turns(fixture, count + 8);
  const readsFor = async (lastEventId: string) => {
    const before = fixture.readCalls.events;
    const { messages, gone } = await watch(fixture, { lastEventId });
    await settle();
    gone();
    return { told: messages.length - 1, reads: fixture.readCalls.events - before };
  };

  t.deepEqual(await readsFor('4'), { told: count, reads: 0 });
  t.deepEqual(await readsFor('3'), { told: count + 1, reads: 1 });
});

test('a hundred watchers cost one read', async (t) => {
  const fixture = createFixture();
  const watchers = await Promise.all(Array.from({ length: 100 }, () => watch(fixture)));
  await turns(fixture, 2);
  const before = fixture.readCalls.events;

  store(fixture, 10);
  await turns(fixture, 1);

  t.true(fixture.readCalls.events - before <= 2);
  t.true(watchers.every(({ messages }) => eventIds(messages).length === 10));
});

test('a hundred watchers who come back to one place, after a restart, cost one read', async (t) => {
  const fixture = createFixture();
  store(fixture, 10);
  await watch(fixture);
  const before = fixture.readCalls.events;

  const watchers = await Promise.all(
    Array.from({ length: 100 }, (_none, n) =>
      watch(fixture, { types: n % 2 === 0 ? [] : ['edge.node.registered'], lastEventId: '4' }),
    ),
  );

  t.is(fixture.readCalls.events - before, 1);
  t.true(watchers.every(({ messages }) => eventIds(messages).length === 6));
});

test('one who came back in the middle reads along with the others again', async (t) => {
  const fixture = createFixture();
  await watch(fixture);
  store(fixture, 10);
  await turns(fixture, 2);
  await watch(fixture, { lastEventId: '5' });
  await turns(fixture, 2);
  const before = fixture.readCalls.events;

  store(fixture, 1);
  await turns(fixture, 1);

  t.true(fixture.readCalls.events - before <= 2);
});

test('a watcher outlives a database that is away, and misses nothing', async (t) => {
  const fixture = createFixture();
  fixture.failing = true;
  const watching = await watch(fixture, { lastEventId: '0' });

  store(fixture, 1);
  await turns(fixture, 2);
  fixture.failing = false;
  fixture.clock.advance(FEED_RETRY_MS);
  await turns(fixture, 2);

  t.deepEqual(eventIds(watching.messages), [idOf(1)]);
});

test('events that nobody told of are found by looking', async (t) => {
  const fixture = createFixture();
  const watching = await watch(fixture);
  await turns(fixture, 2);

  fixture.events.push(eventOf(1));
  fixture.clock.advance(EVENTS_POLL_MS);
  await turns(fixture, 2);

  t.deepEqual(eventIds(watching.messages), [idOf(1)]);
});

test('where all events are told of, it is looked for others far less often', async (t) => {
  const fixture = createFixture();
  fixture.areAllEventsTold = true;
  const watching = await watch(fixture);
  await turns(fixture, 2);

  fixture.events.push(eventOf(1));
  fixture.clock.advance(EVENTS_NET_MS - 1_000);
  await settle();
  const before = eventIds(watching.messages);
  fixture.clock.advance(1_000);
  await turns(fixture, 2);

  t.deepEqual([before, eventIds(watching.messages)], [[], [idOf(1)]]);
});
