/** Feeds of more nodes than one read has: loading and reading anew, page by page, while nodes change. */
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import * as fc from 'fast-check';
import type { Filter } from '../../../../actors/filters.ts';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import type { NodeResource } from '../../../../actors/resources/node.ts';
import { CHANGES_PER_MESSAGE_MAX, READ_PAGE_ROWS, SNAPSHOT_PAGE_ROWS } from '../../../../api/feeds/limits.ts';
import type { NodesMessage } from '../../../../api/feeds/nodes-messages.ts';
import { GatedFleet } from '../../../support/api/gated-fleet.ts';
import { idOf, settle } from '../../../support/api/rows.ts';

/** As many as fill two reads and a part of a third one. */
const COUNT = 2 * READ_PAGE_ROWS + 300;

const UNHEALTHY: readonly Filter[] = [{ field: 'status', op: 'in', value: ['unhealthy'] }];

test('a watcher has the first pages while the others are read', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.answer(0);

  t.deepEqual(placesOf(watching.messages), [
    [1, 5, SNAPSHOT_PAGE_ROWS],
    [2, 5, SNAPSHOT_PAGE_ROWS],
  ]);
  t.deepEqual(watching.ids, ['snapshot', 'snapshot']);

  await fleet.answer(0);
  await fleet.answer(0);

  t.deepEqual(placesOf(watching.messages).slice(2), [
    [3, 5, SNAPSHOT_PAGE_ROWS],
    [4, 5, SNAPSHOT_PAGE_ROWS],
    [5, 5, 300],
  ]);
  t.regex(watching.ids.at(-1) ?? '', /^[\da-f-]{36}:0$/u);
  t.deepEqual(watching.state, fleet.rows());
});

test('one who comes while the nodes are read gets the same pages from the first one on, and what changed after them', async (t) => {
  const fleet = fleetOf(COUNT);
  const first = fleet.watch();
  await fleet.answer(0);
  fleet.change(0, { status: 'unhealthy' });
  await settle();
  await fleet.answer(1);
  const second = fleet.watch();
  await settle();

  t.is(second.messages.length, 2);
  await fleet.finish();

  t.deepEqual([first.state, second.state], [fleet.rows(), fleet.rows()]);
  t.deepEqual(
    second.messages.map(({ type }) => type),
    [...Array.from({ length: 5 }, () => 'snapshot'), 'changed'],
  );
  t.true(second.messages.slice(2).every((message, at) => message === first.messages.at(2 + at)));
});

test('what changes, comes and goes between two pages and within one is what watchers have in the end', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.answer(0);

  // the second page is read already and will be older than all this
  fleet.remove(1_200);
  fleet.change(1_300, { status: 'unhealthy' });
  fleet.change(1, { status: 'unhealthy' });
  fleet.remove(2);
  fleet.change(1_301, {});
  fleet.remove(2_200);
  await settle();
  await fleet.answer(1);
  await fleet.finish();

  t.deepEqual(watching.state, fleet.rows());
});

test('what was read of a changed node before news was left out does not stay', async (t) => {
  const fleet = fleetOf(3);
  const watching = fleet.watch();
  await fleet.finish();
  fleet.change(1, { status: 'unhealthy' });
  await settle();
  fleet.silently(() => fleet.remove(1));
  fleet.miss();
  await fleet.answer(0);
  await fleet.finish();

  t.deepEqual(watching.state, fleet.rows());
});

test('a node that comes to match while the first page is read is not forgotten', async (t) => {
  const fleet = fleetOf(COUNT);
  fleet.watch();
  await fleet.finish();
  const narrow = fleet.watch(UNHEALTHY);
  await settle();
  fleet.change(0, { status: 'unhealthy' });
  await settle();
  await fleet.answer(1);
  await fleet.finish();

  t.deepEqual(narrow.state, fleet.rows(UNHEALTHY));
});

test('a page that is older than what was told meanwhile undoes nothing', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.answer(0);
  fleet.change(1_300, { status: 'unhealthy' });
  await settle();
  await fleet.answer(1);

  await fleet.finish();

  const told = watching.messages.flatMap(({ nodes }) => nodes.filter(({ id }) => id === idOf(1_300 * 2)));
  t.deepEqual(
    told.map(({ status }) => status),
    ['unhealthy'],
  );
});

test('nodes that come while all are read, more than were counted, are told behind the last page', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.answer(0);
  for (let n = 0; n < 500; n += 1) fleet.add(2_300 + n);
  await fleet.finish();

  t.deepEqual(placesOf(watching.messages).at(4), [5, 5, 300]);
  t.deepEqual(watching.state, fleet.rows());
});

test('news that was left out while a fleet loads is made good once it is loaded', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.answer(0);
  fleet.silently(() => {
    fleet.change(3, { status: 'unhealthy' });
    fleet.remove(4);
  });
  fleet.miss();
  await settle();
  await fleet.finish();

  t.deepEqual(watching.state, fleet.rows());
});

test('reading anew goes page by page, and holds up no news', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.finish();
  fleet.silently(() => {
    fleet.remove(5);
    fleet.change(1_500, { status: 'unhealthy' });
  });
  fleet.miss();
  await settle();

  fleet.change(7, { status: 'unhealthy' });
  await settle();
  await fleet.answer(1);
  const told = watching.messages.at(-1);
  await fleet.answer(0);
  fleet.remove(1_501);
  fleet.change(1_500, { status: 'unreachable' });
  await fleet.finish();

  t.deepEqual(told, { type: 'changed', nodes: [{ id: idOf(14), status: 'unhealthy' }], removed: [] });
  t.deepEqual(watching.state, fleet.rows());
});

test('a database that goes away while a fleet loads ends the feed, which begins anew', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.answer(0);
  fleet.fixture.failing = true;
  await fleet.answer(0);

  await t.throwsAsync(watching.ended, { instanceOf: DatabaseUnavailable });
  fleet.fixture.failing = false;
  const again = fleet.watch(UNHEALTHY, watching.ids.at(-1));
  const all = fleet.watch([], watching.ids.at(-1));
  await fleet.finish();

  t.deepEqual([again.state, all.state], [new Map(), fleet.rows()]);
});

test('a fleet that nobody waits for any more is read no further', async (t) => {
  const fleet = fleetOf(COUNT);
  const watching = fleet.watch();
  await fleet.answer(0);
  watching.cut();
  await watching.ended;
  fleet.fixture.clock.advance(30_000);
  await fleet.finish();

  t.is(fleet.fixture.readCalls.list, 2);
});

test('one who is far behind gets what changed in messages of bounded size, and after a cut none is missing', async (t) => {
  const fleet = fleetOf(CHANGES_PER_MESSAGE_MAX + 500);
  const [watching] = [fleet.watch(), fleet.watch()]; // the other one stays
  await fleet.finish();
  watching.cut();
  await watching.ended;
  fleet.add(90_000);
  await fleet.finish();
  for (let n = 0; n < CHANGES_PER_MESSAGE_MAX + 500; n += 1) fleet.change(n, { status: 'unhealthy' });
  await fleet.finish();
  fleet.change(90_000, { status: 'unreachable' });
  await fleet.finish();

  const back = fleet.watch([], watching.ids.at(-1), watching.state);
  await settle();
  const amid = fleet.watch([], back.ids[0], new Map(watching.state));
  await settle();

  t.deepEqual(
    back.messages.map(({ type, nodes }) => [type, nodes.length]),
    [
      ['changed', CHANGES_PER_MESSAGE_MAX],
      ['changed', 501],
    ],
  );
  t.deepEqual([back.state, amid.state], [fleet.rows(), fleet.rows()]);
});

test('whatever comes in whatever order, watchers have what the rows say in the end', async (t) => {
  const places = [0, 1, 2, READ_PAGE_ROWS - 1, READ_PAGE_ROWS, READ_PAGE_ROWS + 1, 2 * READ_PAGE_ROWS, COUNT - 1];
  const place = fc.constantFrom(...places);
  const status = fc.constantFrom('healthy' as const, 'unhealthy' as const, 'unreachable' as const);
  const act = fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant('change' as const), place, status, isTold: fc.boolean() }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('remove' as const), place, isTold: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('watch' as const), isNarrow: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('cut' as const), watcher: fc.nat(3) }) },
    { weight: 8, arbitrary: fc.record({ type: fc.constant('answer' as const), reading: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const) }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(50, 1_000, 5_000) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 40 }), async (acts) => {
      const fleet = fleetOf(COUNT);
      const watchers = [fleet.watch(), fleet.watch(UNHEALTHY)];
      for (const one of acts) {
        if (one.type === 'change') fleet.tellOrMiss(one.isTold, () => fleet.change(one.place, { status: one.status }));
        if (one.type === 'remove') fleet.tellOrMiss(one.isTold, () => fleet.remove(one.place));
        if (one.type === 'watch') watchers.push(fleet.watch(one.isNarrow ? UNHEALTHY : []));
        if (one.type === 'answer') await fleet.answer(one.reading);
        if (one.type === 'wait') fleet.fixture.clock.advance(one.ms);
        if (one.type === 'fail') await fleet.fail();
        const cut = one.type === 'cut' ? watchers[one.watcher] : undefined;
        if (cut !== undefined) {
          cut.cut();
          await fleet.back(watchers, cut);
        }
        await settle();
        await fleet.returned(watchers);
      }
      await fleet.finish(watchers);

      return watchers.every(({ filters, state }) => isDeepStrictEqual(sorted(state), sorted(fleet.rows(filters))));
    }),
    { numRuns: 50 },
  );
  t.pass();
});

function fleetOf(count: number): GatedFleet {
  return new GatedFleet(count);
}

function placesOf(messages: readonly NodesMessage[]): (readonly number[])[] {
  return messages.flatMap((one) => (one.type === 'snapshot' ? [[one.page, one.pages, one.nodes.length]] : []));
}

function sorted(state: ReadonlyMap<string, NodeResource>): string[] {
  return [...state.values()].map((node) => JSON.stringify([node.id, node.status, Object.keys(node).length])).sort();
}
