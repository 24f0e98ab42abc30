/**
 * The event of an expiry stands behind those of what came before it, whatever else is stored at the same moment (V2).
 */
import test from 'ava';
import type { Pool, PoolClient } from 'pg';
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import { IN_THIS_DATABASE } from '../../support/database/locks.ts';
import { LONG_WAITS, openedDatabase, type Opened } from '../../support/database/opened.ts';
import { sql } from '../../../persistence/reads/sql.ts';
import { at, sweepsOf } from '../../support/database/sweeps.ts';
import { until } from '../../support/until.ts';
import { openStorageFixture } from './fixture.ts';

const NOW_MS = Date.UTC(2026, 0, 1, 0, 30);
const expireDue = async (pool: Pool, now = at(NOW_MS)) =>
  (await sweepsOf(pool, { now }).expireDue()).executions.map(({ execution }): string => execution);
const ANY_LOCK = 4_712;

/** So many executions that are pending and due, in the order in which a sweep takes them; nothing else is. */
async function dueIn(opened: Opened, count: number): Promise<readonly string[]> {
  const fixture = await openStorageFixture(opened);
  const { pool } = opened;
  const ids = fixture.command_executions
    .filter(({ status }: ExecutionResource) => status === 'pending')
    .slice(0, count)
    .map(({ id }) => id);
  await pool.query('delete from command_execution where finished_at is null and not id = any($1)', [ids]);
  for (const [index, id] of ids.entries())
    await pool.query('update command_execution set expired_at = $2, sent_at = null where id = $1', [
      id,
      new Date(NOW_MS - 10_000 + index),
    ]);
  return ids;
}

/** As the committer stores that an execution was sent, in one transaction that began and ended meanwhile. */
async function send({ pool }: Opened, id: string): Promise<void> {
  const client = await pool.connect();
  await client.query('begin');
  await client.query(`update command_execution set status = 'sent', sent_at = now() where id = $1`, [id]);
  await client.query(
    `insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.command_execution.sent', $1, now(), '{}')`,
    [id],
  );
  await client.query('commit');
  client.release();
}

/** The pool, with something done on the connection of a sweep right after its `begin`. */
function after(pool: Pool, begun: (client: PoolClient) => Promise<void>): Pool {
  return {
    connect: async () => {
      const client = await pool.connect();
      const query = client.query.bind(client) as (...args: readonly unknown[]) => Promise<unknown>;
      return {
        query: async (...args: readonly unknown[]) => {
          const answer = await query(...args);
          if (args[0] === 'begin') await begun(client);
          return answer;
        },
        release: (error?: boolean) => client.release(error),
      };
    },
  } as unknown as Pool;
}

const eventsOf = async ({ pool }: Opened, subject: string) =>
  (
    await pool.query<{ type: string }>('select type from event where subject = $1 order by txid, seq', [subject])
  ).rows.map(({ type }) => type.split('.').at(-1));

test('a row that a later transaction changed before the sweep came to it is left for the next sweep', async (t) => {
  const opened = await openedDatabase(t, LONG_WAITS);
  const [id = ''] = await dueIn(opened, 1);
  const held = after(opened.pool, async (client) => {
    await client.query('select pg_current_xact_id()');
    await send(opened, id);
  });

  t.deepEqual(await expireDue(held), []);
  t.is((await expireDue(opened.pool)).length, 1);

  t.deepEqual(await eventsOf(opened, id), ['sent', 'expired']);
});

test('so is one that changed behind the snapshot of the sweep, before it was locked', async (t) => {
  const opened = await openedDatabase(t, LONG_WAITS);
  const { pool } = opened;
  const [first = '', second = ''] = await dueIn(opened, 2);
  // The sweep asks of each row it comes to whether it is due, and at the second one until that was sent.
  await pool.query('create sequence looked_at');
  await pool.query(
    `create function slow_now(at timestamptz) returns timestamptz language plpgsql volatile as $$ begin
      if nextval('looked_at') = 2 then perform pg_advisory_xact_lock(${ANY_LOCK}); end if;
      return at; end $$`,
  );
  const holder = await pool.connect();
  await holder.query('select pg_advisory_lock($1)', [ANY_LOCK]);

  const sweeping = expireDue(pool, sql`slow_now(${at(NOW_MS)})`);
  await until(
    'the sweep is at the second row',
    async () =>
      (await pool.query(`select from pg_locks where ${IN_THIS_DATABASE} and locktype = 'advisory' and not granted`))
        .rowCount === 1,
  );
  await send(opened, second);
  await holder.query('select pg_advisory_unlock($1)', [ANY_LOCK]);
  holder.release();

  t.deepEqual(await sweeping, [first]);
  t.deepEqual(await expireDue(pool), [second]);
  t.deepEqual([await eventsOf(opened, first), await eventsOf(opened, second)], [['expired'], ['sent', 'expired']]);
});
