/**
 * A standby that is promoted beneath an admin: the same database where it has all that was acknowledged, and one that
 * was set back where it has not.
 */
import test, { type ExecutionContext } from 'ava';
import { isUnavailable } from '../../../persistence/connections/availability.ts';
import { DatabaseClient } from '../../../persistence/connections/database-client.ts';
import { openDatabase, QUERY_MS_MAX } from '../../../persistence/connections/database.ts';
import { EnrollmentKey } from '../../../persistence/entities/enrollment-key.ts';
import { BARRIER_MS_MAX, ServerSettlement } from '../../../persistence/incarnations/server-settlement.ts';
import { watchIncarnation } from '../../../persistence/incarnations/incarnation.ts';
import { inTransaction } from '../../../persistence/connections/transaction.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { silentLog } from '../../support/log.ts';
import { scaledLimits } from '../../support/database/opened.ts';
import { startReplicatedServers, type ReplicatedServer } from '../../support/database/replicated-servers.ts';
import { until } from '../../support/until.ts';

const NAME = 'admin-1';

/**
 * How long an answer is waited for, in ms: a standby that lost its primary on a busy machine takes 5 s to try again,
 * and a commit waits for it.
 */
const ANSWER_MS_MAX = 60_000;

interface Opening {
  readonly synchronous: boolean;
  readonly queryMs?: number;
}

/**
 * Whatever dials is done again until it is done: which host takes writes is to be said within a second, and a busy
 * server may be late. Both pools have a connection then.
 */
async function openWatched(t: ExecutionContext, { synchronous, queryMs = ANSWER_MS_MAX }: Opening) {
  t.timeout(hangAfter(60_000));
  const servers = await startReplicatedServers(t, { synchronous });
  const limits = { ...scaledLimits(), queryMs, statementMs: queryMs };
  const database = await openDatabase({ connection: { url: servers.url }, poolMax: 10, log: silentLog, limits });
  t.teardown(() => database.close());
  await until('the schema', async () => {
    await database.migrate();
    return true;
  });
  const watch = await until('the incarnation', () => watchIncarnation(database, NAME, silentLog));
  /** As the group commit does. */
  const store = (value: number): Promise<unknown> =>
    inTransaction(
      database.writes,
      'storing',
      (client) => client.query('insert into kept values ($1)', [value]),
      'begin',
      database.witnesses,
    );
  await until('a table', () => database.writes.query('create table if not exists kept (value int)'));
  const failOver = async (): Promise<void> => {
    await servers.primary.kill();
    await servers.promote();
  };
  const back = async (): Promise<void> => {
    for (const pool of [database.pool, database.writes])
      await until('the database to answer', () => pool.query('select 1'));
  };
  const asked = async () => (await database.pool.query<{ value: number }>('select value from kept order by 1')).rows;
  /** As soon as there is an answer: a busy server may be late with one. */
  const values = () => until('an answer', asked);
  const compared = async () => (await until('a comparison', async () => [await watch.compared()]))[0];
  return { servers, database, watch, store, failOver, back, asked, values, compared };
}

test('a promoted synchronous standby has all acknowledged writes, serves an admin, and orders later events above', async (t) => {
  const { database, store, failOver, back, values, compared } = await openWatched(t, { synchronous: true });
  t.true(await compared());
  for (let value = 1; value <= 20; value += 1) await store(value);
  const ordered = async (): Promise<bigint> =>
    BigInt((await database.pool.query<{ id: string }>('select event_transaction()::text as id')).rows[0]?.id ?? 0);
  const before = await ordered();

  await failOver();
  await back();

  t.true(await compared());
  t.true(await compared());
  t.is((await values()).length, 20);
  t.true((await ordered()) > before);
  await store(21);
  t.true(await compared());
});

test('a standby that did not get the last commit is a database that was set back', async (t) => {
  const { servers, watch, store, failOver, back, values, compared } = await openWatched(t, { synchronous: false });
  await store(1);
  const [place] = await servers.primary.sql<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn');
  await until('the standby to have it', async () => {
    const [row] = await servers.standby.sql<{ has: boolean }>(
      `select pg_last_wal_replay_lsn() >= '${place?.lsn}'::pg_lsn as has`,
    );
    return row?.has;
  });
  await servers.standby.sql(`alter system set primary_conninfo = ''; `);
  await servers.standby.sql('select pg_reload_conf()');
  await until(
    'the standby to follow no more',
    async () => (await servers.standby.sql('select from pg_stat_wal_receiver')).length === 0,
  );
  await store(2);

  await failOver();
  await back();

  t.false(await compared());
  await watch.isOver;
  t.deepEqual(await values(), [{ value: 1 }]);
});

test('a commit that waits for a synchronous standby that is away is not acknowledged', async (t) => {
  const { servers, store } = await openWatched(t, { synchronous: true, queryMs: scaled(QUERY_MS_MAX) });
  await servers.standby.pause();

  const outcome = await store(1).then(
    () => 'acknowledged',
    (error: Error) => error.name,
  );
  servers.standby.resume();

  t.is(outcome, 'DatabaseUnavailable');
});

/**
 * A value is stored on the primary alone, which dies before anybody was told, and is started again without its standby.
 */
async function startAgainAhead({ servers, store }: Awaited<ReturnType<typeof openWatched>>): Promise<void> {
  await store(1);
  await servers.standby.kill();
  const told = store(2).then(
    () => 'stored',
    () => 'in doubt',
  );
  await until('a commit that waits for the standby', async () => {
    const waiting = await servers.primary.sql("select 1 from pg_stat_activity where wait_event = 'SyncRep'");
    return waiting.length > 0;
  });
  await servers.primary.kill();
  await servers.primary.startAgain();
  const [shown] = await servers.primary.sql<{ count: number }>('select count(*)::int as count from kept');
  if (shown?.count !== 2 || (await told) !== 'in doubt') throw new Error('the primary is not ahead of its standby');
}

/**
 * What a reader gets as soon as the server takes connections again: rows, or that its standby does not follow, which
 * callers are to know as a database that is away.
 */
function firstRead(read: () => Promise<unknown>): Promise<unknown> {
  return until('an answer, or the reason why there is none', async () => {
    try {
      return await read();
    } catch (error) {
      if (!wordsOf(error).includes('its standby does not follow yet')) return null;
      return isUnavailable(error) ? 'not yet' : 'a fault of the admin';
    }
  });
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.message} ${wordsOf(error.cause)}` : '';
}

test('what a primary that was started again has by itself is read once its standby has it', async (t) => {
  const opened = await openWatched(t, { synchronous: true });
  const { servers, database, back, asked, values } = opened;
  await startAgainAhead(opened);
  const { writes, orm } = database;

  const told = await Promise.all([
    firstRead(asked),
    firstRead(() => writes.query('select value from kept')),
    firstRead(() => orm.em.getConnection().execute('select value from kept')),
    firstRead(() => orm.em.fork().count(EnrollmentKey)),
    firstRead(() => orm.em.fork().transactional((em) => em.count(EnrollmentKey))),
  ]);
  await servers.standby.startAgain();
  await back();

  t.deepEqual(new Set(told), new Set(['not yet']));
  t.deepEqual(await values(), [{ value: 1 }, { value: 2 }]);
});

/** How many commits wait for the standby, for connections that were refused for want of it, BARRIER_MS_MAX apart. */
async function waitingBarriers(t: ExecutionContext, server: ReplicatedServer): Promise<number> {
  const { connection } = server;
  let nowMs = 0;
  const settlement = new ServerSettlement({ ...connection, application_name: 'alone' }, () => nowMs);
  t.teardown(() => settlement.close());
  const waiting = `select count(*)::int as count from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'alone'`;
  const refused = async (): Promise<number> => {
    const client = new DatabaseClient(connection);
    client.on('error', () => {});
    await client.connect();
    await t.throwsAsync(settlement.admit(client));
    return (await server.sql<{ count: number }>(waiting))[0]?.count ?? 0;
  };
  for (; nowMs < 2 * BARRIER_MS_MAX; nowMs += BARRIER_MS_MAX) await until('a commit that waits', refused);
  return refused();
}

test('what a primary had by itself is read by nobody when its standby takes its place', async (t) => {
  const opened = await openWatched(t, { synchronous: true });
  const { servers, back, asked, values, compared } = opened;
  await startAgainAhead(opened);

  t.is(await firstRead(asked), 'not yet');
  t.is(await waitingBarriers(t, servers.primary), 1);
  await servers.primary.kill();
  await servers.standby.startAgain();
  await servers.promote();
  await back();

  t.deepEqual(await values(), [{ value: 1 }]);
  t.true(await compared());
});
