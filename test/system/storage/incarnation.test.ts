/**
 * A database whose server counts transactions from below what is stored: restored from a dump, or set back. Nothing
 * that is stored then may lie behind a cursor (V4).
 */
import test from 'ava';
import { v7 } from 'uuid';
import { insertEvents } from '../../../persistence/committer/event-rows.ts';
import { aheadBy, settledIncarnation } from '../../../persistence/incarnations/incarnation.ts';
import { backlogOf, nextForBroker } from '../../../persistence/publishing/broker-rows.ts';
import { BROKER_CHANNEL, WEBHOOKS_CHANNEL } from '../../../persistence/publishing/names.ts';
import { openedDatabase, type Opened } from '../../support/database/opened.ts';
import { claimChannel, deliveriesOf, openTransaction, route, storeEvent, storeWebhook } from './publishing/fixture.ts';
import { column } from '../../support/database/columns.ts';

/** How far ids of the former server lie above those of this one. */
const LEAD = 1_000_000;

/** What a dump brings: every stored id as the former server gave it. `server`: what the row says of where it was. */
async function setAbove({ pool }: Opened, server: 'another' | 'this'): Promise<void> {
  for (const [table, column] of [
    ['event', 'txid'],
    ['event_channel', 'txid'],
    ['webhook', 'txid'],
    ['webhook_delivery', 'event_txid'],
  ]) {
    await pool.query(`update ${table} set ${column} = (${column}::text::bigint + ${LEAD})::text::xid8`);
  }
  if (server === 'another') await pool.query(`update database_incarnation set server = '7000000000000000001/00000001'`);
}

/** The cursor that the former server gave for it. */
const shifted = (cursor: string): string => cursor.replace(/^\d+/u, (txid) => String(Number(txid) + LEAD));

const store = ({ pool }: Opened, subject: string) =>
  insertEvents(pool, [{ type: 'edge.core.test', subject, atMs: Date.now(), data: { message: '', requested_at: '' } }]);

for (const server of ['another', 'this'] as const) {
  test(`events stored after a restore reach all consumers in order and are counted (the row names ${server === 'this' ? 'the same server' : 'the former server'})`, async (t) => {
    const opened = await openedDatabase(t);
    const webhooks = await claimChannel(opened.pool, WEBHOOKS_CHANNEL);
    const broker = await claimChannel(opened.pool, BROKER_CHANNEL);
    const webhook = await storeWebhook(opened);
    const before = v7();
    const cursor = shifted(await storeEvent(opened.pool, before));
    await setAbove(opened, server);

    await settledIncarnation(opened.pool);
    const [first, second, third] = [v7(), v7(), v7()];
    await store(opened, first);
    await storeEvent(opened.pool, second); // by the column's default, as an admin of the version before does
    await store(opened, third);

    const after = [first, second, third];
    t.is(await backlogOf(opened.pool, BROKER_CHANNEL, 10), 4);
    t.deepEqual(column((await opened.reads.eventsAfter(cursor, 10)).events, 'subject'), after);
    t.deepEqual(column((await nextForBroker(opened.pool, broker, null, 10, 1e12, 'tests'))?.events, 'subject'), [
      before,
      ...after,
    ]);
    await route({ ...opened, epoch: webhooks });
    t.is((await deliveriesOf(opened, webhook)).length, 4);
    t.is(await aheadBy(opened.pool), 0);
  });
}

test('an admin in another server begins an incarnation with its next event, and of many concurrent events one does', async (t) => {
  const opened = await openedDatabase(t);
  const cursor = shifted(await storeEvent(opened.pool));
  await setAbove(opened, 'another');
  const subjects = Array.from({ length: 20 }, () => v7());

  await Promise.all(subjects.map((subject) => store(opened, subject)));

  const { rows } = await opened.pool.query(
    'select number, server = database_server() as "isHere" from database_incarnation',
  );
  t.deepEqual(rows, [{ number: 2, isHere: true }]);
  const read = await opened.reads.eventsAfter(cursor, 50);
  t.deepEqual(read.events.map(({ subject }) => subject).toSorted(), subjects.toSorted());
});

test('an incarnation that begins beside a running transaction does not overtake it', async (t) => {
  const opened = await openedDatabase(t);
  const cursor = shifted(await storeEvent(opened.pool));
  await setAbove(opened, 'another');
  const slow = await openTransaction(opened);
  await slow.client.query('select pg_current_xact_id()');
  const [early, late] = [v7(), v7()];

  await store(opened, late);
  await insertEvents(slow.client, [
    { type: 'edge.core.test', subject: early, atMs: Date.now(), data: { message: '', requested_at: '' } },
  ]);
  const meanwhile = await opened.reads.eventsAfter(cursor, 10);
  await slow.commit();

  t.deepEqual(meanwhile.events, []);
  t.deepEqual(column((await opened.reads.eventsAfter(cursor, 10)).events, 'subject'), [early, late]);
});

test('a cursor ahead of a restored database resumes at its end, and an incarnation exceeds all earlier ones', async (t) => {
  const opened = await openedDatabase(t);
  const ahead = await opened.reads.eventsAfter('9000000000000000000-7', 10);
  const before = v7();
  await store(opened, before);

  t.deepEqual(column((await opened.reads.eventsAfter(ahead.cursor, 10)).events, 'subject'), [before]);

  // Restored twice from the same dump: what the first life of it told its watchers lies below the second.
  const cursors: string[] = [];
  for (const life of [1, 2]) {
    await setAbove(opened, 'another');
    if (life === 2) await opened.pool.query('delete from event where txid > $1', [String(3 * LEAD)]);
    await store(opened, v7());
    cursors.push((await opened.reads.eventsAfter('1-0', 100)).cursor);
  }
  t.true(BigInt(cursors[0]!.split('-')[0]!) < BigInt(cursors[1]!.split('-')[0]!), cursors.join(' '));
});

test('places ahead of what comes next are counted, as health tells them', async (t) => {
  const opened = await openedDatabase(t);
  await claimChannel(opened.pool, BROKER_CHANNEL);
  t.is(await aheadBy(opened.pool), 0);

  await opened.pool.query(`update event_channel set txid = '9000000000000000000' where name = $1`, [BROKER_CHANNEL]);

  t.is(await aheadBy(opened.pool), 1);
});
