/** The bounds of the feeds: what is over them is refused, and what is under them is not. */
import test from 'ava';
import {
  CHANNELS_MAX,
  CHANNEL_LINGER_MS,
  REMEMBERED_EVENTS_MAX,
  TAILS_MAX,
  WATCHED_EXECUTIONS_MAX,
  WATCHED_EXECUTIONS_TOTAL_MAX,
  WATCHED_NODES_MAX,
  WATCHED_NODES_TOTAL_MAX,
} from '../../../../api/feeds/limits.ts';
import {
  AT,
  commandId,
  commandOf,
  createFixture,
  executionId,
  executionOf,
  gather,
  granted,
  idOf,
  nodeOf,
  settle,
} from '../../../support/api/rows.ts';

const here = { signal: new AbortController().signal };

test(`at most ${CHANNELS_MAX} filters and as many commands are watched; a forgotten one makes room again`, async (t) => {
  const fixture = createFixture();
  fixture.commands.set(idOf(0), commandOf(0));
  for (let n = 0; n < CHANNELS_MAX; n += 1) {
    fixture.commands.set(idOf(n), commandOf(n));
    await granted(fixture.feeds.nodes.watch([{ field: 'version', op: 'eq', value: String(n) }], here));
    await granted(fixture.feeds.commands.watch(commandId(n), here));
  }

  const one = [{ field: 'version', op: 'eq', value: 'more' }] as const;
  t.like(await fixture.feeds.nodes.watch(one, here), { ok: false, refusal: { code: 'service_unavailable' } });
  t.like(await fixture.feeds.commands.watch(commandId(CHANNELS_MAX), here), {
    ok: false,
    refusal: { code: 'service_unavailable' },
  });
  t.like(await fixture.feeds.nodes.watch([{ field: 'version', op: 'eq', value: '7' }], here), { ok: true });

  fixture.clock.advance(CHANNEL_LINGER_MS);
  t.like(await fixture.feeds.nodes.watch(one, here), { ok: true });
});

test(`all filters hold at most ${WATCHED_NODES_TOTAL_MAX} nodes, those still read included; forgetting one makes room`, async (t) => {
  const page = { rows: [nodeOf(0)], totalCount: WATCHED_NODES_MAX };
  const fixture = createFixture({
    list: (() => Promise.resolve(page)) as never,
    nodesAfter: () => new Promise(() => undefined),
  });
  const watch = (n: number) => fixture.feeds.nodes.watch([{ field: 'version', op: 'eq', value: String(n) }], here);
  const full = WATCHED_NODES_TOTAL_MAX / WATCHED_NODES_MAX;

  const watched = await Promise.all(Array.from({ length: full + 1 }, (_none, n) => watch(n)));

  t.deepEqual(
    watched.map((one) => one.ok),
    [...Array.from({ length: full }, () => true), false],
  );
  t.like(await watch(full), { ok: false, refusal: { code: 'service_unavailable' } });
  t.like(await watch(0), { ok: true });

  fixture.clock.advance(CHANNEL_LINGER_MS);
  t.like(await watch(full), { ok: true });
});

test(`a command with more than ${WATCHED_EXECUTIONS_MAX} executions is not watched`, async (t) => {
  const fixture = createFixture();
  fixture.commands.set(idOf(0), commandOf(0));
  for (let n = 0; n <= WATCHED_EXECUTIONS_MAX; n += 1) fixture.executions.set(idOf(n), executionOf(n, 0));

  t.like(await fixture.feeds.commands.watch(commandId(0), here), { ok: false, refusal: { code: 'bad_request' } });
});

test(`at most ${WATCHED_EXECUTIONS_TOTAL_MAX} executions are held for all watched commands; a forgotten one makes room`, async (t) => {
  const fixture = createFixture();
  const large = (n: number) =>
    fixture.commands.set(idOf(n), {
      ...commandOf(n),
      summary: { ...commandOf(n).summary, total: WATCHED_EXECUTIONS_MAX },
    });
  const full = WATCHED_EXECUTIONS_TOTAL_MAX / WATCHED_EXECUTIONS_MAX;
  for (let n = 0; n <= full; n += 1) large(n);
  fixture.commands.set(idOf(full + 1), {
    ...commandOf(full + 1),
    summary: { ...commandOf(full + 1).summary, total: WATCHED_EXECUTIONS_MAX + 1 },
  });

  // At once, so that none is read yet when the last one comes.
  const watched = await Promise.all(
    Array.from({ length: full + 1 }, (_none, n) => fixture.feeds.commands.watch(commandId(n), here)),
  );

  t.deepEqual(
    watched.map((one) => one.ok),
    [...Array.from({ length: full }, () => true), false],
  );
  t.like(await fixture.feeds.commands.watch(commandId(full), here), {
    ok: false,
    refusal: { code: 'service_unavailable' },
  });
  t.like(await fixture.feeds.commands.watch(commandId(full + 1), here), {
    ok: false,
    refusal: { code: 'bad_request' },
  });
  t.like(await fixture.feeds.commands.watch(commandId(0), here), { ok: true });

  fixture.clock.advance(CHANNEL_LINGER_MS);
  t.like(await fixture.feeds.commands.watch(commandId(full), here), { ok: true });
});

test(`at most ${TAILS_MAX} executions are tailed at a time, by any number of readers`, async (t) => {
  const fixture = createFixture();
  for (let n = 0; n <= TAILS_MAX; n += 1) fixture.executions.set(idOf(n), executionOf(n, 0, { status: 'sent' }));
  const tails = [];
  for (let n = 0; n < TAILS_MAX; n += 1) {
    const reader = await granted(fixture.feeds.executions.tail(executionId(n), here));
    tails.push(gather(() => reader));
  }
  await settle();

  t.like(await fixture.feeds.executions.tail(executionId(TAILS_MAX), here), {
    ok: false,
    refusal: { code: 'service_unavailable' },
  });
  t.like(await fixture.feeds.executions.tail(executionId(0), here), { ok: true });
});

test('events beyond those that are remembered are read again by the one who needs them, without a gap', async (t) => {
  const fixture = createFixture();
  const reader = fixture.feeds.events.watch({ types: [], latest: 0 }, here)[Symbol.asyncIterator]();
  await reader.next();
  const total = REMEMBERED_EVENTS_MAX * 2;
  const fast = gather((signal) => fixture.feeds.events.watch({ types: [], latest: 0 }, { signal }));
  await settle();

  for (let n = 1; n <= total; n += 1)
    fixture.events.push({
      cursor: String(n),
      id: idOf(n),
      type: 'edge.core.test',
      subject: idOf(0),
      time: AT,
      data: {},
    });
  fixture.bus.publish([{ type: 'events-stored' }]);
  for (let turn = 0; turn < 60; turn += 1) {
    await settle();
    fixture.clock.advance(50);
  }
  const read: string[] = [];
  while (read.length < total) {
    const { value } = await reader.next();
    if (value?.data.type === 'events') read.push(...value.data.events.map(({ id }) => id));
  }

  t.deepEqual(
    read,
    Array.from({ length: total }, (_none, n) => idOf(n + 1)),
  );
  t.is(
    fast.messages.reduce((sum, message) => sum + (message.type === 'events' ? message.events.length : 0), 0),
    total,
  );
});
