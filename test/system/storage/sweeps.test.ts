/** What sweeps expire, drop and prune, with what they tell of it. */
import test from 'ava';
import { v7 } from 'uuid';
import type { StoredEvent } from '../../../actors/events.ts';
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import type { CommandId } from '../../../transport/protocol/ids.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeCommands, storeEvents } from '../../support/database/stored-rows.ts';
import { storeEvent } from './publishing/fixture.ts';
import { pruned, sweepsOf } from '../../support/database/sweeps.ts';
import { openStoredFleet } from './fixture.ts';

const DAY_MS = 86_400_000;

/** A webhook that the fixture does not have. */
const WEBHOOK = 'aaaaaaaa-0000-7000-8000-00000000000a';

/** In the middle of the expiries that the fixture has. */
const NOW_MS = Date.UTC(2026, 0, 1, 0, 30);

/** The rows of the fixture, sweeps at this time, and the events since. */
async function swept(t: Parameters<typeof openedDatabase>[0], nowMs = NOW_MS) {
  const { opened, fixture } = await openStoredFleet(t);
  const sweeps = sweepsOf(opened.pool, { nowMs });
  const { cursor } = await opened.reads.eventsAfter(null, 1);
  return {
    opened,
    fixture,
    sweeps,
    events: async (): Promise<readonly StoredEvent[]> => (await opened.reads.eventsAfter(cursor, 1_000)).events,
  };
}

/** What a sweep of executions finds where there are none. */
const NONE = { executions: [], isFull: false };

const sorted = (texts: readonly string[]): readonly string[] => texts.toSorted();
const isOpen = ({ status }: ExecutionResource) => status === 'pending' || status === 'sent';

function snapshot({
  id,
  output: _output,
  output_truncated: _cut,
  output_withheld: _withheld,
  ...execution
}: ExecutionResource): Record<string, unknown> {
  return { ...execution, command_execution_id: id };
}

test('open executions past their expiry expire with their events, in batches, and keep when they were sent', async (t) => {
  const { opened, fixture, sweeps, events } = await swept(t);
  const due = fixture.command_executions.filter(
    (execution) => isOpen(execution) && execution.expired_at !== null && Date.parse(execution.expired_at) <= NOW_MS,
  );
  t.true(due.length > 4);

  const first = await sweeps.expireDue(3);
  const rest = await sweeps.expireDue();

  t.is(first.executions.length, 3);
  t.deepEqual(
    sorted(
      [...first.executions, ...rest.executions].map(({ execution, command, node, clusterName, status }): string =>
        [execution, command, node, clusterName, status].join(),
      ),
    ),
    sorted(
      due.map((execution) =>
        [execution.id, execution.command_id, execution.node_id, execution.cluster_name, 'expired'].join(),
      ),
    ),
  );
  t.deepEqual(await sweeps.expireDue(), NONE);
  const at = new Date(NOW_MS).toISOString();
  for (const execution of due)
    t.deepEqual(await opened.reads.get('command_executions', execution.id), {
      ...execution,
      status: 'expired',
      updated_at: at,
    });
  const told = await events();
  t.deepEqual(
    sorted(told.map(({ type, subject, time }) => `${type} ${subject} ${time}`)),
    sorted(due.map(({ id }) => `edge.command_execution.expired ${id} ${at}`)),
  );
  for (const event of told)
    t.deepEqual(
      event.data,
      snapshot({ ...due.find(({ id }) => id === event.subject)!, status: 'expired', updated_at: at }),
    );
});

test('an execution whose result is being stored is left to it', async (t) => {
  const { opened, sweeps } = await swept(t);
  const all = await sweeps.expireDue();
  await opened.pool.query(`delete from command_execution where id = any($1)`, [
    all.executions.map(({ execution }) => execution),
  ]);
  const {
    rows: [open],
  } = await opened.pool.query<{ id: string }>(
    `update command_execution set expired_at = $1 where id = (select id from command_execution where finished_at is null limit 1) returning id`,
    [new Date(NOW_MS - 1)],
  );
  const storing = await opened.pool.connect();
  await storing.query('begin');
  await storing.query(
    `update command_execution set status = 'completed', exit_code = 0, sent_at = now(), completed_at = now(), finished_at = now() where id = $1`,
    [open!.id],
  );

  t.deepEqual(await sweeps.expireDue(), NONE);
  await storing.query('commit');
  storing.release();

  t.deepEqual(await sweeps.expireDue(), NONE);
  t.is((await opened.reads.get('command_executions', open!.id))?.status, 'completed');
});

test('open executions whose node is gone are dropped, with their output parts, and no event', async (t) => {
  const { opened, fixture, sweeps, events } = await swept(t);
  const open = fixture.command_executions.filter(isOpen);
  const [gone] = open.map(({ node_id }) => node_id);
  await opened.pool.query('delete from node where id = $1', [gone]);
  await opened.pool.query(`insert into execution_output_part values ($1, 0, 'text')`, [
    open.find(({ node_id }) => node_id === gone)!.id,
  ]);

  const { executions: dropped } = await sweeps.dropOrphans();

  t.deepEqual(
    sorted(dropped.map(({ execution }) => execution)),
    sorted(open.filter(({ node_id }) => node_id === gone).map(({ id }) => id)),
  );
  t.deepEqual(await sweeps.dropOrphans(), NONE);
  t.is((await opened.reads.get('command_executions', dropped[0]!.execution))?.status, 'dropped');
  t.deepEqual(await events(), []);
  t.is((await opened.pool.query('select from execution_output_part')).rowCount, 0);
});

test('what has been kept long enough is pruned, executions with their events, then commands that are empty', async (t) => {
  const { opened, fixture, sweeps, events } = await swept(t, NOW_MS + 31 * DAY_MS);
  const finished = fixture.command_executions.filter((execution) => !isOpen(execution));
  await opened.pool.query(`delete from command_execution where command_id = $1 and finished_at is null`, [
    fixture.commands[0]!.id,
  ]);
  await opened.pool.query(`update command_execution set finished_at = $1 where finished_at is not null`, [
    new Date(NOW_MS),
  ]);
  await opened.pool.query(`update command_execution set finished_at = $2 where id = $1`, [
    finished.at(-1)!.id,
    new Date(NOW_MS + 2 * DAY_MS),
  ]);

  const { executions, commands } = sweeps.prunings;
  const batches = [];
  for (let batch = await executions(20); batch.count > 0; batch = await executions(20)) batches.push(batch);
  const { notices } = await commands();

  t.deepEqual(
    batches.map(({ count, isFull }) => [count, isFull]),
    batches.map((_batch, index) => (index < batches.length - 1 ? [20, true] : [(finished.length - 1) % 20, false])),
  );
  t.true(notices.some((notice) => notice.type === 'command-removed' && notice.command === fixture.commands[0]!.id));
  t.is(await opened.reads.get('commands', fixture.commands[0]!.id), null);
  const told = await events();
  t.deepEqual(
    sorted(told.map(({ type, subject }) => `${type} ${subject}`)),
    sorted(finished.slice(0, -1).map(({ id }) => `edge.command_execution.pruned ${id}`)),
  );
  for (const event of told) t.deepEqual(event.data, snapshot(finished.find(({ id }) => id === event.subject)!));
});

test('a command that never reached a node is pruned by its age', async (t) => {
  const { opened, sweeps } = await swept(t);
  const [old, young] = [31, 29].map((days) => v7({ msecs: NOW_MS - days * DAY_MS })) as [string, string];
  await storeCommands(opened.pool, [old], new Date(NOW_MS - 31 * DAY_MS));
  await storeCommands(opened.pool, [young], new Date(NOW_MS - 29 * DAY_MS));

  const { notices } = await sweeps.prunings.commands();

  t.deepEqual(notices, [{ type: 'command-removed', command: old as CommandId }]);
});

test('events, remembered answers and stray output parts go when their time is over, others stay', async (t) => {
  const { opened, fixture, sweeps } = await swept(t, Date.now());
  const { pool } = opened;
  for (const days of [9, 8.5, 6, 1]) await storeEvents(pool, 1, `${days} days`);
  await storeEvent(pool, undefined, { time: new Date(0), storedAt: new Date() }); // told of late
  await storeEvent(pool, undefined, { time: new Date(0), storedAt: null }); // of before that was written down
  await pool.query(
    `insert into idempotency_key select 'scope', age::text, 'hash', 'sealed', now() - make_interval(hours => age) from unnest(array[25, 23]) as age`,
  );
  const open = fixture.command_executions.find(isOpen)!;
  const closed = fixture.command_executions.find((execution) => !isOpen(execution))!;
  await pool.query(
    `insert into execution_output_part select id, part, 'text' from unnest($1::uuid[]) as id, generate_series(0, 1) as part`,
    [[open.id, closed.id, crypto.randomUUID()]],
  );
  await pool.query('delete from command_execution where finished_at is not null and id <> $1', [closed.id]);

  const { events, idempotencyRecords, outputParts } = await pruned(sweeps);

  t.deepEqual({ events, idempotencyRecords, outputParts }, { events: 3, idempotencyRecords: 1, outputParts: 4 });
  const left = async (table: string, column: string) =>
    (await pool.query<{ value: string }>(`select distinct ${column}::text as value from ${table}`)).rows.map(
      ({ value }) => value,
    );
  t.deepEqual(await left('idempotency_key', 'key'), ['23']);
  t.deepEqual(await left('execution_output_part', 'execution_id'), [open.id]);
});

test('deliveries go with their tries when they were finished long ago, unfinished ones never', async (t) => {
  const { opened, sweeps } = await swept(t, Date.now());
  const { pool } = opened;
  await pool.query('delete from webhook_delivery');
  await pool.query(
    `insert into webhook (id, url, subscribed_events, sealed_secret, sealed_headers, inserted_at, updated_at) values ($1, 'u', '{}', 's', 'h', now(), now())`,
    [WEBHOOK],
  );
  await pool.query(
    `with d as (
      insert into webhook_delivery (id, webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, inserted_at, updated_at)
      select overlay(uuid_v7()::text placing overlay(lpad(to_hex((extract(epoch from now() - make_interval(days => age)) * 1000)::bigint), 12, '0') placing '-' from 9 for 0) from 1)::uuid, $1, age::text::xid8, row_number() over (), gen_random_uuid(), 'edge.core.test', gen_random_uuid(), status, 1, 3, now(), now() - make_interval(days => age) from (values (9, 'delivered'), (8, 'dropped'), (9, 'pending'), (6, 'delivered'), (1, 'dropped')) as v(age, status), generate_series(1, 2) as n returning id)
    insert into webhook_attempt (delivery_id, number, attempted_at, duration_ms, status_code) select id, 1, now(), 1, 200 from d`,
    [WEBHOOK],
  );

  const first = await pruned(sweeps, 3);
  const rest = await pruned(sweeps);

  t.deepEqual([first.deliveries, rest.deliveries, first.orphanDeliveries + rest.orphanDeliveries], [3, 1, 0]);
  const { rows } = await pool.query<{ age: string; status: string }>(
    `select distinct event_txid::text as age, status from webhook_delivery order by 1, 2`,
  );
  t.deepEqual(
    rows.map(({ age, status }) => `${age} ${status}`),
    ['1 dropped', '6 delivered', '9 pending'],
  );
  t.is((await pool.query('select from webhook_attempt a join webhook_delivery d on d.id = a.delivery_id')).rowCount, 6);
  t.is((await pool.query('select from webhook_attempt')).rowCount, 6);
});

test('deliveries whose webhook is gone are deleted, a bounded number at a time, and no others', async (t) => {
  const { opened, fixture, sweeps } = await swept(t);
  const [gone, alsoGone] = fixture.webhooks.map(({ id }) => id);
  const left = fixture.webhook_deliveries.filter(({ webhook_id }) => webhook_id !== gone && webhook_id !== alsoGone);
  await opened.pool.query('delete from webhook where id = any($1)', [[gone, alsoGone]]);
  await opened.pool.query(
    `insert into webhook_attempt (delivery_id, number, attempted_at, duration_ms, status_code) select id, 1, now(), 1, 200 from webhook_delivery`,
  );

  const { orphanDeliveries } = sweeps.prunings;
  const batches = [];
  for (let batch = await orphanDeliveries(4); batch.count > 0; batch = await orphanDeliveries(4))
    batches.push(batch.count);

  t.true(batches.length > 1 && batches.every((count) => count <= 4));
  t.is(
    batches.reduce((sum, count) => sum + count, 0),
    fixture.webhook_deliveries.length - left.length,
  );
  const { rows } = await opened.pool.query<{ id: string }>(
    'select delivery_id as id from webhook_attempt join webhook_delivery on id = delivery_id',
  );
  t.deepEqual(sorted(rows.map(({ id }) => id)), sorted(left.map(({ id }) => id)));
  t.is((await opened.pool.query('select from webhook_attempt')).rowCount, left.length);
});

test('recordings are kept for their days by the clock of the admin, not of the machine, and are deleted in batches', async (t) => {
  const { opened, sweeps } = await swept(t);
  await opened.pool.query(`update ssh_recording set started_at = '1999-01-01', inserted_at = $1`, [
    new Date(NOW_MS - 30 * DAY_MS),
  ]);
  const count = async () =>
    (await opened.reads.list('ssh_recordings', { filters: [], sort: [], page: 1, pageSize: 1 })).totalCount;
  const all = await count();

  const { recordings } = sweeps.prunings;

  t.is((await recordings()).count, 0);
  await opened.pool.query(
    `update ssh_recording set inserted_at = inserted_at - interval '1 ms' where id in (select id from ssh_recording limit 5)`,
  );
  const batches = [await recordings(3), await recordings(3), await recordings(3)];

  t.deepEqual(
    batches.map(({ count }) => count),
    [3, 2, 0],
  );
  t.is(await count(), all - 5);
});
