/** Events as they are read on: in the order of their commits, with none left out. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { v7 } from 'uuid';
import type { NodeEventsQuery } from '../../../api/ports.ts';
import { nextForBroker, type BrokerBatch } from '../../../persistence/publishing/broker-rows.ts';
import { BROKER_CHANNEL } from '../../../persistence/publishing/names.ts';
import { EVENTS_READ_BYTES_MAX } from '../../../persistence/reads/events.ts';
import { createRecords } from '../../../persistence/ownerless-writes.ts';
import { openedDatabase, type Opened } from '../../support/opened.ts';
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

test('the order of events is that of numbers: the tenth comes after the ninth, for who watches and for the broker, a page at a time', async (t) => {
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

test('the events of a node are listed off their index, the latest first, and those of others are not among them', async (t) => {
  const { pool, reads } = await openedDatabase(t);
  const node = v7() as NodeId;
  const types = ['registered', 'status_changed', 'status_changed', 'version_changed'] as const;
  for (const type of types) {
    await storeEvent(pool, node, { type: `edge.node.${type}` });
    await storeEvent(pool, v7(), { type: `edge.node.${type}` });
    await storeEvent(pool, node, { type: 'edge.ssh_username.verified' });
  }
  const all = { node, types: null, page: 1, pageSize: 10, isOldestFirst: false };
  const typesOf = async (query: Partial<NodeEventsQuery>) => {
    const { rows, totalCount } = await reads.nodeEvents({ ...all, ...query });
    return [rows.map(({ type }) => type.slice('edge.node.'.length)), totalCount];
  };

  t.deepEqual(await typesOf({}), [types.toReversed(), 4]);
  t.deepEqual(await typesOf({ isOldestFirst: true, pageSize: 3 }), [types.slice(0, 3), 4]);
  t.deepEqual(await typesOf({ page: 2, pageSize: 3 }), [['registered'], 4]);
  t.deepEqual(await typesOf({ page: 9 }), [[], 4]);
  t.deepEqual(await typesOf({ types: ['edge.node.status_changed'] }), [['status_changed', 'status_changed'], 2]);
  t.deepEqual(await typesOf({ node: v7() as NodeId }), [[], 0]);

  const client = await pool.connect();
  try {
    await client.query('set enable_seqscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain select 1 from event where subject = '${node}' and type like 'edge.node.%' order by txid desc, seq desc limit 9`,
    );
    t.regex(rows.map((row) => row['QUERY PLAN']).join('\n'), /Index .*event_of_node/u);
  } finally {
    await client.query('reset enable_seqscan');
    client.release();
  }
});
