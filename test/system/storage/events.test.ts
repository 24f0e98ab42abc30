/** Events as they are read on: in the order of their commits, with none left out. */
import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import type { EventType } from '../../../actors/events.ts';
import type { NodeEventsQuery } from '../../../api/ports.ts';
import { IndexBuilds } from '../../../persistence/concurrent-indexes.ts';
import { nextForBroker, type BrokerBatch } from '../../../persistence/publishing/broker-rows.ts';
import { BROKER_CHANNEL } from '../../../persistence/publishing/names.ts';
import { EVENTS_READ_BYTES_MAX, LATEST_LOOKED_AT_MAX } from '../../../persistence/reads/events.ts';
import { createRecords } from '../../../persistence/ownership/ownerless-writes.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import { silentLog } from '../../support/log.ts';
import { openedDatabase, readsOf, type Opened } from '../../support/database/opened.ts';
import { countedReads } from '../../support/database/rows-read.ts';
import type { NodeId } from '../../../transport/protocol/ids.ts';
import { claimChannel, openTransaction, storeEvent } from './publishing/fixture.ts';

/** Everything after the cursor, a few at a time. */
async function readOn(
  { reads }: Opened,
  from: string,
): Promise<{ readonly subjects: readonly string[]; readonly cursor: string }> {
  const subjects: string[] = [];
  for (let cursor = from; ;) {
    const read = await reads.eventsAfter(cursor, 2);
    if (read.events.length === 0) return { subjects, cursor };
    subjects.push(...read.events.map(({ subject }) => subject));
    cursor = read.cursor;
  }
}

test('a transaction that commits late is not skipped, and nothing newer comes before it', async (t) => {
  const opened = await openedDatabase(t);
  const [early, late, newer, last] = [v7(), v7(), v7(), v7()] as const;
  const { cursor } = await opened.reads.eventsAfter(null, 10);
  await storeEvent(opened.pool, early);
  const slow = await openTransaction(opened);
  await storeEvent(slow.client, late);
  await storeEvent(opened.pool, newer);

  const before = await readOn(opened, cursor);
  await slow.commit();
  await storeEvent(opened.pool, last);
  const after = await readOn(opened, before.cursor);

  t.deepEqual(before.subjects, [early]);
  t.deepEqual(after.subjects, [late, newer, last]);
});

test('the latest are found by their types, without those that are not settled, and only so far back', async (t) => {
  const opened = await openedDatabase(t);
  const { pool, reads } = opened;
  const end = await reads.beforeLatest([], 3);
  t.deepEqual((await reads.eventsAfter(end, 10)).events, [], 'of none');
  const [first, second, third, other, unsettled] = [v7(), v7(), v7(), v7(), v7()] as const;
  for (const subject of [first, second, third]) await storeEvent(pool, subject);
  await pool.query(
    `insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.node.registered', $1, now(), '{}')`,
    [other],
  );
  const open = await openTransaction(opened);
  await storeEvent(open.client, unsettled);
  const latest = async (types: readonly EventType[], count: number): Promise<readonly string[]> =>
    (await reads.eventsAfter(await reads.beforeLatest(types, count), 10)).events.map(({ subject }) => subject);

  t.deepEqual(await latest([], 2), [third, other]);
  t.deepEqual(await latest(['edge.core.test'], 2), [second, third, other], 'who asks leaves the others out');
  t.deepEqual(await latest([], 1_000), [first, second, third, other]);
  await open.commit();
  t.deepEqual(await latest([], 2), [other, unsettled]);

  await pool.query(
    `insert into event (id, type, subject, time, data)
    select gen_random_uuid(), 'edge.core.test', gen_random_uuid(), now(), '{}' from generate_series(1, $1::int)`,
    [LATEST_LOOKED_AT_MAX],
  );
  t.deepEqual(await latest(['edge.node.registered'], 1), [], 'too far back');
});

test('events are in the order of numbers, the tenth after the ninth, for watchers and the broker, page by page', async (t) => {
  const opened = await openedDatabase(t);
  const { cursor } = await opened.reads.eventsAfter(null, 10);
  const claimed = await claimChannel(opened.pool, BROKER_CHANNEL);
  const subjects = Array.from({ length: 12 }, () => v7());
  await opened.pool.query(`select setval(pg_get_serial_sequence('event', 'seq'), 994)`);
  await opened.pool.query(
    `insert into event (id, type, subject, time, data) select gen_random_uuid(), 'edge.core.test', s::uuid, now(), '{}' from unnest($1::text[]) with ordinality as n(s, i) order by i`,
    [subjects],
  );

  const forBroker: string[] = [];
  for (let after: BrokerBatch | null = null; ;) {
    const batch: BrokerBatch | null = await nextForBroker(opened.pool, claimed, after, 5, 1e12, 'tests');
    if (batch === null || batch.to === null) break;
    forBroker.push(...batch.events.map(({ subject }) => subject));
    after = batch;
  }

  t.deepEqual((await readOn(opened, cursor)).subjects, subjects);
  t.deepEqual(forBroker, subjects);
});

test('large events come in reads of a bounded size, and one that is larger than that comes alone', async (t) => {
  const opened = await openedDatabase(t);
  const { cursor } = await opened.reads.eventsAfter(null, 10);
  const [half, third] = [EVENTS_READ_BYTES_MAX / 2, Math.floor(EVENTS_READ_BYTES_MAX / 3)];
  const random = (size: number) => randomBytes(size).toString('base64').slice(0, size); // is not stored any smaller
  const texts = [random(EVENTS_READ_BYTES_MAX), 'x', 'x'.repeat(half), random(third), random(third), 'x'];
  for (const text of texts) await storeEvent(opened.pool, undefined, { data: JSON.stringify(text) });

  const read: (readonly [number, number, boolean])[] = [];
  for (let at = cursor, more = true; more;) {
    const part = await opened.reads.eventsAfter(at, 500);
    read.push([part.events.length, part.bytes, part.more]);
    ({ cursor: at, more } = part);
  }

  t.deepEqual(read, [
    [1, EVENTS_READ_BYTES_MAX + 2, true],
    [3, 3 + half + 2 + third + 2, true],
    [2, third + 2 + 3, false],
  ]);
});

test('a reader that starts at the end while a transaction runs gets its events when it commits', async (t) => {
  const opened = await openedDatabase(t);
  const late = v7();
  const slow = await openTransaction(opened);
  await storeEvent(slow.client, late);

  const { events, cursor } = await opened.reads.eventsAfter(null, 10);
  await slow.commit();

  t.deepEqual(events, []);
  t.deepEqual((await readOn(opened, cursor)).subjects, [late]);
});

test('an event that goes with no row change is stored as published', async (t) => {
  const opened = await openedDatabase(t);
  const { cursor } = await opened.reads.eventsAfter(null, 10);

  const stored = await createRecords(opened.pool).publish({
    type: 'edge.core.test',
    subject: v7(),
    atMs: Date.UTC(2026, 0, 1),
    data: { message: 'ünïcode "quoted"', requested_at: '2026-01-01T00:00:00.000Z' },
  });

  t.like(await opened.reads.eventsAfter(cursor, 10), { events: [stored], cursor: stored.cursor, more: false });
});

test('what is no cursor reads from the end', async (t) => {
  const opened = await openedDatabase(t);
  await storeEvent(opened.pool, v7());

  for (const cursor of ['', 'x', '1', '1-', '-1-1', '1-1-1', '99999999999999999999999-1', '1-99999999999999999999']) {
    t.deepEqual((await opened.reads.eventsAfter(cursor, 10)).events, [], cursor);
  }
});

test('events and logins of a node are listed from their indexes, latest first, without those of other nodes', async (t) => {
  const { pool, reads } = await openedDatabase(t);
  const node = v7() as NodeId;
  const [login, ...own] = [
    'edge.ssh_username.verified',
    'edge.node.registered',
    'edge.node.status_changed',
    'edge.node.status_changed',
    'edge.node.version_changed',
  ] as const;
  for (const type of own) {
    await storeEvent(pool, node, { type });
    await storeEvent(pool, v7(), { type });
    await storeEvent(pool, node, { type: login });
    await storeEvent(pool, node, { type: 'edge.core.test' }); // of a kind whose subject is no node
  }
  const stored = own.flatMap((type) => [type, login]);
  const all = { node, types: null, page: 1, pageSize: 10, isOldestFirst: false, countedMax: null };
  const typesOf = async (query: Partial<NodeEventsQuery>) => {
    const read = await reads.nodeEvents({ ...all, ...query });
    return read.ok && [read.value.rows.map(({ type }) => type), read.value.totalCount];
  };

  t.deepEqual(await typesOf({}), [stored.toReversed(), 8]);
  t.deepEqual(await typesOf({ isOldestFirst: true, pageSize: 3 }), [stored.slice(0, 3), 8]);
  t.deepEqual(await typesOf({ page: 3, pageSize: 3 }), [stored.toReversed().slice(6), 8]);
  t.deepEqual(await typesOf({ page: 9 }), [[], 8]);
  t.deepEqual(await typesOf({ types: own }), [own.toReversed(), 4]);
  t.deepEqual(await typesOf({ types: ['edge.node.status_changed'] }), [
    ['edge.node.status_changed', 'edge.node.status_changed'],
    2,
  ]);
  t.deepEqual(await typesOf({ types: [login], page: 2, pageSize: 3 }), [[login], 4]);
  t.deepEqual(await typesOf({ types: ['edge.node.registered', login], isOldestFirst: true, pageSize: 2 }), [
    stored.slice(0, 2),
    5,
  ]);
  t.deepEqual(await typesOf({ types: [] }), [[], 0]);
  t.deepEqual(await typesOf({ node: v7() as NodeId }), [[], 0]);
});

/** A node that enrolled, and to which somebody tried to log in often, among as many events of others. */
async function besieged(t: ExecutionContext) {
  const { pool, orm } = await openedDatabase(t);
  const node = v7() as NodeId;
  await storeEvent(pool, node, { type: 'edge.node.registered' });
  for (const [type, subject] of [
    ['edge.ssh_username.verified', node],
    ['edge.command_execution.created', v7()],
  ] as const)
    await pool.query(
      `insert into event (id, type, subject, time, data)
       select gen_random_uuid(), $1, $2, now(), '{}' from generate_series(1, $3)`,
      [type, subject, LOGINS],
    );
  await pool.query('analyze event');
  const counted = countedReads(t, pool, 'event');
  const query = { node, types: null, page: 1, pageSize: 10, isOldestFirst: false, countedMax: null };
  return { pool, counted, reads: readsOf({ orm, pool: counted.pool }), query };
}

const LOGINS = 10_000;

test('however often somebody tried to log in to a node, a page of its events reads no more than a page', async (t) => {
  const { pool, counted, reads, query } = await besieged(t);
  await pool.query('vacuum event');

  const both = await counted.readBy(() => reads.nodeEvents(query));
  const own = await counted.readBy(() => reads.nodeEvents({ ...query, types: ['edge.node.status_changed'] }));

  t.true(both <= 2 * query.pageSize, `${both} rows for ten of both kinds`);
  t.true(own <= query.pageSize, `${own} rows for none of its own`);
});

test('no more events of a node are counted than are asked for, and than tell that there is a next page', async (t) => {
  const { counted, reads, query } = await besieged(t);
  const totalOf = async (asked: Partial<NodeEventsQuery>) => {
    const read = await reads.nodeEvents({ ...query, ...asked });
    return read.ok && read.value.totalCount;
  };

  t.is(await totalOf({}), LOGINS + 1);
  t.is(await totalOf({ countedMax: 100 }), 100);
  t.is(await totalOf({ countedMax: 100, page: 20 }), 201);
  t.is(await totalOf({ countedMax: 1, page: 1_001 }), LOGINS + 1, 'the last page has no next one');
  t.is(await totalOf({ countedMax: 100, types: ['edge.node.registered'] }), 1);
  const read = await counted.readBy(() => reads.nodeEvents({ ...query, countedMax: 100 }));
  t.true(read < LOGINS / 10, `${read} rows to count 100`);
});

for (const [name, spoil] of [
  ['was not begun', 'drop index event_login_of_node'],
  ['is not ready', `update pg_index set indisvalid = false where indexrelid = 'event_login_of_node'::regclass`],
] as const)
  test(`while the index of logins ${name}, events of a node are told without them, and no others are read`, async (t) => {
    const { pool, counted, reads, query } = await besieged(t);
    await pool.query(spoil);
    const answers: unknown[] = [];
    const ask = async (types: NodeEventsQuery['types']): Promise<void> => {
      const read = await reads.nodeEvents({ ...query, types });
      answers.push(read.ok ? [read.value.rows.map(({ type }) => type), read.value.totalCount] : read.refusal.code);
    };

    const all = await counted.readBy(() => ask(null));
    const logins = await counted.readBy(() => ask(['edge.ssh_username.verified']));
    const some = await counted.readBy(() => ask(['edge.ssh_username.verified', 'edge.node.registered']));
    await ask(['edge.node.registered']);

    const registered = [['edge.node.registered'], 1];
    t.deepEqual(answers, [registered, 'service_unavailable', 'service_unavailable', registered]);
    t.true(all + logins + some <= 3 * query.pageSize, `${all}, ${logins} and ${some} rows`);
    await pool.query('drop index if exists event_login_of_node');
    const connect = () => new Client({ ...pool.options, pipeline: false });
    const builds = new IndexBuilds({ pool, connect, clock: systemClock, log: silentLog });
    t.teardown(() => builds.stop());
    builds.start();
    await builds.settled();
    const read = await reads.nodeEvents(query);
    t.like(read, { ok: true, value: { totalCount: LOGINS + 1 } });
  });
