import test from 'ava';
import type { Notice } from '../../../../actors/notice.ts';
import { summaryOf, type CommandMessage } from '../../../../api/feeds/commands.ts';
import { FEED_INTERVAL_MS, SNAPSHOT_PAGE_ROWS } from '../../../../api/feeds/limits.ts';
import {
  commandId,
  commandOf,
  createFixture,
  executionId,
  executionOf,
  gather,
  granted,
  idOf,
  nodeId,
  settle,
  type Fixture,
} from '../../../support/api/rows.ts';

test('a watcher gets the command with its executions, then each change with the new summary', async (t) => {
  const fixture = fixtureWith(2);
  const watching = await watch(fixture);

  fixture.bus.publish([changed(0, 'sent', null)]);
  await settle();
  fixture.bus.publish([changed(0, 'completed', 0), changed(1, 'completed', 3)]);
  fixture.clock.advance(FEED_INTERVAL_MS);
  await settle();

  const nothing = { sent: 0, completed: 0, succeeded: 0, failed: 0, cancelled: 0, expired: 0, dropped: 0 };
  const pending = { node_id: idOf(1_000), cluster_name: 'demo', status: 'pending', exit_code: null };
  t.deepEqual(watching.messages, [
    {
      type: 'snapshot',
      page: 1,
      pages: 1,
      command: { ...commandOf(7), summary: { total: 2, pending: 2, ...nothing } },
      executions: [
        { id: idOf(0), ...pending },
        { id: idOf(1), ...pending, node_id: idOf(1_001) },
      ],
    },
    {
      type: 'changed',
      summary: { ...nothing, total: 2, pending: 1, sent: 1 },
      executions: [{ id: idOf(0), status: 'sent' }],
    },
    {
      type: 'changed',
      summary: { ...nothing, total: 2, pending: 0, completed: 2, succeeded: 1, failed: 1 },
      executions: [
        { id: idOf(0), status: 'completed', exit_code: 0 },
        { id: idOf(1), status: 'completed', exit_code: 3 },
      ],
    },
  ] as CommandMessage[]);
});

test('ten thousand results in one instant are told in a few messages', async (t) => {
  const fixture = fixtureWith(10_000);
  const watching = await watch(fixture);

  fixture.bus.publish(Array.from({ length: 10_000 }, (_none, n) => changed(n, 'completed', 0)));
  for (let turn = 0; turn < 5; turn += 1) {
    await settle();
    fixture.clock.advance(FEED_INTERVAL_MS);
  }

  const changes = watching.messages.filter(({ type }) => type === 'changed');
  t.true(changes.length <= 3);
  t.like(changes.at(-1), { summary: { total: 10_000, succeeded: 10_000, pending: 0 } });
});

test('the nodes that a command names are told in the first and the last page of its snapshot', async (t) => {
  const fixture = fixtureWith(3 * SNAPSHOT_PAGE_ROWS);
  const named = { type: 'nodes' as const, node_ids: Array.from({ length: 3 * SNAPSHOT_PAGE_ROWS }, (_, n) => idOf(n)) };
  fixture.commands.set(commandId(7), { ...commandOf(7), targeting: named });

  const { messages } = await watch(fixture);

  t.deepEqual(
    messages.map((message) => message.type === 'snapshot' && message.command.targeting),
    [named, { type: 'nodes' }, named],
  );
});

test('news older than the snapshot does not turn an execution back', async (t) => {
  const fixture = fixtureWith(1);
  fixture.executions.set(idOf(0), executionOf(0, 7, { status: 'completed', exit_code: 0 }));
  const watching = await watch(fixture);

  fixture.bus.publish([changed(0, 'sent', null)]);
  await settle();

  t.is(watching.messages.length, 1);
});

test('results that arrive while the snapshot is read are told after it', async (t) => {
  const fixture = fixtureWith(1);
  const asked = fixture.feeds.commands.watch(commandId(7), { signal: new AbortController().signal });
  fixture.bus.publish([changed(0, 'completed', 1)]);
  const reader = await granted(asked);
  const watching = gather(() => reader);
  fixture.clock.advance(FEED_INTERVAL_MS);
  await settle();

  t.like(watching.messages.at(-1), { summary: { total: 1, failed: 1 } });
});

test('the deletion of the command is the last that its watchers hear', async (t) => {
  const fixture = fixtureWith(1);
  const watching = await watch(fixture);

  fixture.bus.publish([{ type: 'command-removed', command: commandId(7) }]);
  await watching.ended;

  t.deepEqual(watching.messages.at(-1), { type: 'removed' });
});

test('an execution that was deleted is in no snapshot any more, and its watchers get one at once', async (t) => {
  const fixture = fixtureWith(2);
  const watching = await watch(fixture);

  fixture.bus.publish([{ type: 'execution-removed', execution: executionId(0), command: commandId(7) }]);
  await settle();

  const [, again, ...more] = watching.messages;
  t.like(again, { type: 'snapshot', page: 1, pages: 1, command: { summary: { total: 1, pending: 1 } } });
  t.deepEqual(
    [again?.type === 'snapshot' && again.executions.map(({ id }) => id), more, [...fixture.feeds.open()].length],
    [[idOf(1)], [], 1],
  );

  fixture.bus.publish([changed(1, 'completed', 0)]);
  fixture.clock.advance(FEED_INTERVAL_MS);
  await settle();
  t.like(watching.messages.at(-1), { type: 'changed', summary: { total: 1, pending: 0, completed: 1 } });
});

test('a watcher that comes back goes on, and with an id of another admin it gets a snapshot', async (t) => {
  const [there, here] = [fixtureWith(1), fixtureWith(1)];
  const seen: (string | undefined)[] = [];
  for (const fixture of [there, here]) {
    const watching = await watch(fixture);
    fixture.bus.publish([changed(0, 'sent', null)]);
    await settle();
    seen.push(watching.ids.at(-1));
  }
  for (const fixture of [there, here]) {
    fixture.clock.advance(FEED_INTERVAL_MS);
    fixture.bus.publish([changed(0, 'completed', 0)]);
    await settle();
  }

  const [again, foreign] = [await watch(there, seen[0]), await watch(here, seen[0])];

  t.deepEqual(
    [again, foreign].map(({ messages }) => messages.map(({ type }) => type)),
    [['changed'], ['snapshot']],
  );
  t.like(again.messages[0], { executions: [{ status: 'completed' }] });
});

test('a command that does not exist is refused', async (t) => {
  const refused = await createFixture().feeds.commands.watch(commandId(1), { signal: new AbortController().signal });

  t.like(refused, { ok: false, refusal: { code: 'not_found' } });
});

test('a summary splits what completed by exit code', (t) => {
  const summary = summaryOf([
    { status: 'completed', exit_code: 0 },
    { status: 'completed', exit_code: 1 },
    { status: 'cancelled', exit_code: 143 },
    { status: 'expired', exit_code: null },
    { status: 'dropped', exit_code: null },
  ]);

  t.deepEqual(summary, {
    total: 5,
    pending: 0,
    sent: 0,
    completed: 2,
    succeeded: 1,
    failed: 1,
    cancelled: 1,
    expired: 1,
    dropped: 1,
  });
});

function fixtureWith(executions: number): Fixture {
  const fixture = createFixture();
  fixture.commands.set(idOf(7), commandOf(7));
  for (let n = 0; n < executions; n += 1) fixture.executions.set(idOf(n), executionOf(n, 7));
  return fixture;
}

async function watch(fixture: Fixture, lastEventId?: string) {
  const { signal } = new AbortController();
  const reader = await granted(fixture.feeds.commands.watch(commandId(7), { lastEventId, signal }));
  const watching = gather(() => reader);
  await settle();
  return watching;
}

function changed(n: number, status: 'sent' | 'completed', exitCode: number | null): Notice {
  return {
    type: 'execution-changed',
    execution: executionId(n),
    command: commandId(7),
    node: nodeId(n + 1_000),
    clusterName: 'demo',
    status,
    exitCode,
  };
}
