/**
 * The event of an expiry stands behind those of what came before it, whatever else is stored at the same moment (V2).
 */
import test from 'ava';
import type { Pool, PoolClient } from 'pg';
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import { LONG_WAITS, openedDatabase, type Opened } from '../../support/opened.ts';
import { sweepsOf } from '../../support/sweeps.ts';
import { until } from '../../support/until.ts';
import { openStorageFixture } from './fixture.ts';

const NOW_MS = Date.UTC(2026, 0, 1, 0, 30);
const expireDue = (pool: Pool) => sweepsOf(pool, { nowMs: NOW_MS }).expireDue();
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

test('so is one that changed behind the snapshot of the sweep, while it was at another row', async (t) => {
  const opened = await openedDatabase(t, LONG_WAITS);
  const { pool } = opened;
  const [first = '', second = ''] = await dueIn(opened, 2);
  // The sweep stops at the first row, which it has locked, until the second was sent.
  await pool.query(
    `create function pause() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(${ANY_LOCK}); return new; end $$`,
  );
  await pool.query(
    `create trigger pause before update on command_execution for each row when (old.id = '${first}' and new.status = 'expired') execute function pause()`,
  );
  const held = after(pool, async (client) => {
    await client.query('set local enable_hashjoin = off');
    await client.query('set local enable_mergejoin = off');
  });
  const holder = await pool.connect();
  await holder.query('select pg_advisory_lock($1)', [ANY_LOCK]);

  const sweeping = expireDue(held);
  await until(
    'the sweep is at the first row',
    async () =>
      (
        await pool.query(
          `select from pg_locks where database = (select oid from pg_database where datname = current_database()) and locktype = 'advisory' and not granted`,
        )
      ).rowCount === 1,
  );
  await send(opened, second);
  await holder.query('select pg_advisory_unlock($1)', [ANY_LOCK]);
  holder.release();

  t.deepEqual<readonly string[], readonly string[]>(
    (await sweeping).map(({ execution }) => execution),
    [first],
  );
  t.deepEqual<readonly string[], readonly string[]>(
    (await expireDue(pool)).map(({ execution }) => execution),
    [second],
  );
  t.deepEqual([await eventsOf(opened, first), await eventsOf(opened, second)], [['expired'], ['sent', 'expired']]);
});
