import test from 'ava';
import {
  FEED_INTERVAL_MS,
  SNAPSHOT_PAGE_ROWS,
  WATCHED_NODES_MAX,
  CHANNEL_LINGER_MS,
} from '../../../../api/feeds/limits.ts';
import type { NodesMessage } from '../../../../api/feeds/nodes-messages.ts';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import {
  createFixture,
  gather,
  granted,
  idOf,
  nodeId,
  nodeOf,
  settle,
  type Fixture,
} from '../../../support/api/rows.ts';

test('a watcher gets the nodes that are there, then what changed of them', async (t) => {
  const fixture = fleetOf(2);
  const watching = await watch(fixture);

  change(fixture, 1, { status: 'unhealthy', updated_at: '2026-11-21T09:00:01.000Z' });
  await settle();

  t.deepEqual(watching.messages, [
    { type: 'snapshot', page: 1, pages: 1, total: 2, nodes: [nodeOf(0), nodeOf(1)] },
    {
      type: 'changed',
      nodes: [{ id: idOf(1), status: 'unhealthy', updated_at: '2026-11-21T09:00:01.000Z' }],
      removed: [],
    },
  ]);
});

test('the first change goes out at once, and those of the next 50 ms in one message', async (t) => {
  const fixture = fleetOf(3);
  const watching = await watch(fixture);

  change(fixture, 0, { status: 'unhealthy' });
  await settle();
  const first = watching.messages.length;
  for (const n of [0, 1, 2, 0, 1]) {
    change(fixture, n, { status: 'unreachable' });
    await settle();
  }
  const second = watching.messages.length;
  fixture.clock.advance(FEED_INTERVAL_MS);
  await settle();

  t.deepEqual([first, second, watching.messages.length], [2, 2, 3]);
  t.deepEqual(idsOf(watching.messages.at(-1)), [idOf(0), idOf(1), idOf(2)]);
});

test('a node that comes to match is told whole, and one that matches no more is removed', async (t) => {
  const fixture = fleetOf(2);
  const watching = await watch(fixture, undefined, [{ field: 'status', op: 'in', value: ['unhealthy'] }]);

  change(fixture, 1, { status: 'unhealthy' });
  await settle();
  change(fixture, 1, { status: 'healthy' });
  fixture.clock.advance(FEED_INTERVAL_MS);
  await settle();

  t.deepEqual(watching.messages, [
    { type: 'snapshot', page: 1, pages: 1, total: 0, nodes: [] },
    { type: 'changed', nodes: [nodeOf(1, { status: 'unhealthy' })], removed: [] },
    { type: 'changed', nodes: [], removed: [idOf(1)] },
  ]);
});

test('a watcher that comes back goes on after the last id that it saw', async (t) => {
  const fixture = fleetOf(2);
  const first = await watch(fixture);
  first.gone();
  await first.ended;
  change(fixture, 0, { status: 'unhealthy' });
  await settle();

  const second = await watch(fixture, first.ids.at(-1));

  t.deepEqual(second.messages, [{ type: 'changed', nodes: [{ id: idOf(0), status: 'unhealthy' }], removed: [] }]);
});

test('a watcher that comes back too late, or with an id of nobody, gets a fresh snapshot', async (t) => {
  const fixture = fleetOf(1);
  const first = await watch(fixture);
  first.gone();
  await first.ended;
  fixture.clock.advance(CHANNEL_LINGER_MS);

  for (const id of [first.ids.at(-1), 'nonsense', '', `${'x'.repeat(36)}:0`]) {
    const later = await watch(fixture, id);
    t.like(later.messages[0], { type: 'snapshot' });
    later.gone();
  }
});

test('an id of another admin means nothing here: its watcher gets a snapshot, and loses no change between the two', async (t) => {
  const [there, here] = [fleetOf(2), fleetOf(2)];
  const first = await watch(there);
  change(there, 0, { status: 'unhealthy' });
  await settle();
  await watch(here); // as many changes are known here as there
  for (const n of [1, 0]) {
    change(here, n, { status: 'unhealthy' });
    here.clock.advance(FEED_INTERVAL_MS);
    await settle();
  }

  const later = await watch(here, first.ids.at(-1));

  t.is(later.messages.length, 1);
  t.like(later.messages[0], { type: 'snapshot', nodes: [{ status: 'unhealthy' }, { status: 'unhealthy' }] });
});

test('a watcher cut off in the middle of a snapshot starts over', async (t) => {
  const fixture = fleetOf(SNAPSHOT_PAGE_ROWS + 1);
  const watching = await watch(fixture);

  t.is(watching.ids[0], 'snapshot');
  const again = await watch(fixture, watching.ids[0]);

  t.deepEqual(
    again.messages.map((message) =>
      message.type === 'snapshot' ? [message.page, message.pages, message.nodes.length] : [],
    ),
    [
      [1, 2, SNAPSHOT_PAGE_ROWS],
      [2, 2, 1],
    ],
  );
});

test('a storm over 10,000 nodes is read once and reaches a hundred watchers in a few messages, all the same objects', async (t) => {
  const fixture = fleetOf(10_000);
  const watchers = await Promise.all(Array.from({ length: 100 }, () => watch(fixture)));
  const readsBefore = fixture.readCalls.list;

  fixture.nodes.forEach((node, id) => fixture.nodes.set(id, { ...node, status: 'unreachable' }));
  fixture.bus.publish([...fixture.nodes.keys()].map((_id, n) => ({ type: 'node-changed', node: nodeId(n) })));
  for (let turn = 0; turn < 5; turn += 1) {
    await settle();
    fixture.clock.advance(FEED_INTERVAL_MS);
  }
  await settle();

  t.true(fixture.readCalls.list - readsBefore <= 4);
  for (const { messages } of watchers) {
    const changes = messages.filter(({ type }) => type === 'changed');
    t.true(changes.length <= 4);
    t.true([...stateOf(messages).values()].every(({ status }) => status === 'unreachable'));
    t.is(
      changes[0],
      watchers[0]?.messages.find(({ type }) => type === 'changed'),
    );
  }
});

test('a slow watcher holds no queue: when it reads again it gets everything that changed in one message', async (t) => {
  const fixture = fleetOf(3);
  const reader = (await granted(fixture.feeds.nodes.watch([], { signal: new AbortController().signal })))[
    Symbol.asyncIterator
  ]();
  await reader.next();

  for (const status of ['unhealthy', 'unreachable', 'unhealthy'] as const) {
    for (const n of [0, 1, 2]) change(fixture, n, { status });
    await settle();
    fixture.clock.advance(FEED_INTERVAL_MS);
    await settle();
  }
  const { value } = await reader.next();

  t.deepEqual(value?.data, {
    type: 'changed',
    nodes: [0, 1, 2].map((n) => ({ id: idOf(n), status: 'unhealthy' })),
    removed: [],
  });
  await reader.return();
});

test('a change that the database could not be asked about is told when it answers again', async (t) => {
  const fixture = fleetOf(1);
  const watching = await watch(fixture);

  fixture.failing = true;
  change(fixture, 0, { status: 'unhealthy' });
  await settle();
  fixture.failing = false;
  fixture.clock.advance(1_000);
  await settle();

  t.deepEqual(watching.messages.at(-1), {
    type: 'changed',
    nodes: [{ id: idOf(0), status: 'unhealthy' }],
    removed: [],
  });
});

test('a change while the snapshot is read is not lost', async (t) => {
  const fixture = fleetOf(1);
  const asked = fixture.feeds.nodes.watch([], { signal: new AbortController().signal });
  change(fixture, 0, { status: 'unreachable' });
  const reader = await granted(asked);
  const watching = gather(() => reader);
  for (let turn = 0; turn < 3; turn += 1) {
    await settle();
    fixture.clock.advance(FEED_INTERVAL_MS);
  }
  await settle();

  t.is(stateOf(watching.messages).get(idOf(0))?.status, 'unreachable');
});

test('a filter that matches more nodes than can be watched is refused with advice', async (t) => {
  const fixture = createFixture({
    list: () => Promise.resolve({ rows: [], totalCount: WATCHED_NODES_MAX + 1 }),
  });

  const refused = await fixture.feeds.nodes.watch([], { signal: new AbortController().signal });

  t.deepEqual(refused, {
    ok: false,
    refusal: {
      code: 'bad_request',
      message:
        '100001 nodes match, and at most 100000 can be watched. Narrow the filters, for example by cluster_name.',
    },
  });
});

test('without watchers nothing is read', async (t) => {
  const fixture = fleetOf(1);
  const watching = await watch(fixture);
  watching.gone();
  await watching.ended;
  fixture.clock.advance(CHANNEL_LINGER_MS);
  const before = fixture.readCalls.list;

  change(fixture, 0, { status: 'unhealthy' });
  await settle();

  t.is(fixture.readCalls.list, before);
});

function fleetOf(count: number): Fixture {
  const fixture = createFixture();
  for (let n = 0; n < count; n += 1) fixture.nodes.set(idOf(n), nodeOf(n));
  return fixture;
}

async function watch(
  fixture: Fixture,
  lastEventId?: string,
  filters: Parameters<Fixture['feeds']['nodes']['watch']>[0] = [],
) {
  const controller = new AbortController();
  const reader = await granted(fixture.feeds.nodes.watch(filters, { lastEventId, signal: controller.signal }));
  const watching = gather(() => reader);
  await settle();
  return { ...watching, gone: () => controller.abort() };
}

function change(fixture: Fixture, n: number, changes: Partial<NodeResource>): void {
  fixture.nodes.set(idOf(n), { ...(fixture.nodes.get(idOf(n)) ?? nodeOf(n)), ...changes });
  fixture.bus.publish([{ type: 'node-changed', node: nodeId(n) }]);
}

function idsOf(message: NodesMessage | undefined): string[] {
  return message?.nodes.map(({ id }) => id) ?? [];
}

/** What a client makes of the messages. */
function stateOf(messages: readonly NodesMessage[]): Map<string, NodeResource> {
  const state = new Map<string, NodeResource>();
  for (const message of messages) {
    if (message.type === 'snapshot' && message.page === 1) state.clear();
    for (const node of message.nodes) state.set(node.id, { ...state.get(node.id), ...node } as NodeResource);
    if (message.type === 'changed') for (const id of message.removed) state.delete(id);
  }
  return state;
}
