/** Feeds after word that something was left out: they show what the rows say, and read them now and then at most. */
import test from 'ava';
import type { CommandMessage } from '../../../../api/feeds/commands.ts';
import { FEED_INTERVAL_MS, FEED_RETRY_MS, RESYNC_EVERY_MS } from '../../../../api/feeds/limits.ts';
import type { NodesMessage } from '../../../../api/feeds/nodes-messages.ts';
import type { Filter } from '../../../../actors/filters.ts';
import {
  commandId,
  commandOf,
  createFixture,
  gather,
  granted,
  idOf,
  nodeOf,
  settle,
  type Fixture,
} from '../../../support/api/rows.ts';

test('nodes that changed, came and went without a word are told as changes', async (t) => {
  const fixture = fleetOf(3);
  const messages = await watch(fixture);

  fixture.nodes.set(idOf(1), { ...nodeOf(1), status: 'unhealthy' });
  fixture.nodes.delete(idOf(2));
  fixture.nodes.set(idOf(3), nodeOf(3));
  await miss(fixture);

  t.deepEqual(messages.slice(1), [
    { type: 'changed', nodes: [{ id: idOf(1), status: 'unhealthy' }, nodeOf(3)], removed: [idOf(2)] },
  ]);
});

test('what was left out while a feed reads its nodes is told after them', async (t) => {
  const fixture = fleetOf(2);
  const read = Promise.withResolvers<void>();
  fixture.listed = () => read.promise;
  const watching = watch(fixture);
  await settle();

  fixture.nodes.delete(idOf(1));
  await miss(fixture);
  read.resolve();
  const messages = await watching;
  fixture.clock.advance(FEED_INTERVAL_MS);
  await settle();

  t.deepEqual(messages, [
    { type: 'snapshot', page: 1, pages: 1, total: 2, nodes: [nodeOf(0), nodeOf(1)] },
    { type: 'changed', nodes: [], removed: [idOf(1)] },
  ]);
});

test('a clock that is set back keeps no news', async (t) => {
  const fixture = fleetOf(1);
  const messages = await watch(fixture);
  fixture.nodes.set(idOf(0), { ...nodeOf(0), status: 'unhealthy' });
  await miss(fixture);

  fixture.clock.setBack(3_600_000);
  fixture.nodes.set(idOf(0), { ...nodeOf(0), status: 'unreachable' });
  await miss(fixture);
  fixture.clock.advance(RESYNC_EVERY_MS);
  await settle();
  fixture.clock.advance(FEED_RETRY_MS);
  await settle();

  t.is(messages.length, 3);
});

test('each feed goes by its own filters', async (t) => {
  const fixture = fleetOf(2);
  const all = await watch(fixture);
  const unhealthy = await watch(fixture, [{ field: 'status', op: 'in', value: ['unhealthy'] }]);

  fixture.nodes.set(idOf(1), { ...nodeOf(1), status: 'unhealthy' });
  await miss(fixture);

  t.deepEqual(
    [all, unhealthy].map((messages) => messages.slice(1)),
    [
      [{ type: 'changed', nodes: [{ id: idOf(1), status: 'unhealthy' }], removed: [] }],
      [{ type: 'changed', nodes: [{ ...nodeOf(1), status: 'unhealthy' }], removed: [] }],
    ],
  );
});

test('that nodes were seen again is no change', async (t) => {
  const fixture = fleetOf(2);
  const messages = await watch(fixture);

  fixture.nodes.set(idOf(0), { ...nodeOf(0), last_seen_at: '2026-11-21T10:00:00.000Z' });
  await miss(fixture);

  t.is(messages.length, 1);
});

test('however often something is missed, each feed is read once in 5 s, and once more for what came last', async (t) => {
  const fixture = fleetOf(1);
  const messages = await watch(fixture);
  const before = fixture.readCalls.list;

  for (let flap = 0; flap < 40; flap += 1) {
    await miss(fixture);
    fixture.clock.advance(100);
  }
  const within = fixture.readCalls.list - before;
  fixture.nodes.set(idOf(0), { ...nodeOf(0), status: 'unreachable' });
  await miss(fixture);
  fixture.clock.advance(RESYNC_EVERY_MS);
  await settle();
  fixture.clock.advance(2 * RESYNC_EVERY_MS);
  await settle();

  t.deepEqual([within, fixture.readCalls.list - before], [1, 2]);
  t.deepEqual(messages.at(-1), {
    type: 'changed',
    nodes: [{ id: idOf(0), status: 'unreachable' }],
    removed: [],
  });
});

test('a database that is away is asked again', async (t) => {
  const fixture = fleetOf(1);
  const messages = await watch(fixture);
  fixture.nodes.set(idOf(0), { ...nodeOf(0), status: 'unreachable' });

  fixture.failing = true;
  await miss(fixture);
  fixture.failing = false;
  fixture.clock.advance(FEED_RETRY_MS);
  await settle();

  t.is(messages.length, 2);
});

test('a command that was deleted without a word ends its feed, and others go on', async (t) => {
  const fixture = createFixture();
  for (const n of [7, 8]) fixture.commands.set(idOf(n), commandOf(n));
  const [gone, there] = [await watchCommand(fixture, 7), await watchCommand(fixture, 8)];

  fixture.commands.delete(idOf(7));
  fixture.bus.publish([{ type: 'missed', what: 'commands' }]);
  await settle();
  fixture.clock.advance(FEED_INTERVAL_MS);
  await settle();

  t.deepEqual([gone.slice(1), there.slice(1)], [[{ type: 'removed' }], []]);
});

function fleetOf(count: number): Fixture {
  const fixture = createFixture();
  for (let n = 0; n < count; n += 1) fixture.nodes.set(idOf(n), nodeOf(n));
  return fixture;
}

async function watch(fixture: Fixture, filters: readonly Filter[] = []): Promise<readonly NodesMessage[]> {
  const reader = await granted(fixture.feeds.nodes.watch(filters, { signal: new AbortController().signal }));
  const { messages } = gather(() => reader);
  await settle();
  return messages;
}

async function watchCommand(fixture: Fixture, n: number): Promise<readonly CommandMessage[]> {
  const reader = await granted(fixture.feeds.commands.watch(commandId(n), { signal: new AbortController().signal }));
  const { messages } = gather(() => reader);
  await settle();
  return messages;
}

/** News of nodes was left out, and what follows of it is done. */
async function miss(fixture: Fixture): Promise<void> {
  fixture.bus.publish([{ type: 'missed', what: 'nodes' }]);
  await settle();
}
