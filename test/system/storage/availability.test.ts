import test from 'ava';
import type { QueryConfig } from 'pg';
import { v7 } from 'uuid';
import { DatabaseUnavailable, Unanswered } from '../../../actors/ports.ts';
import { asUnavailable, isLost, isUnavailable } from '../../../persistence/connections/availability.ts';
import { openDatabase } from '../../../persistence/connections/database.ts';
import { createLoader } from '../../../persistence/loader/loader.ts';
import { createRecords } from '../../../persistence/ownership/ownerless-writes.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { silentLog } from '../../support/log.ts';
import { openedDatabase, readsOf } from '../../support/database/opened.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { registryOf } from '../../support/admin-registry.ts';
import { processesOf, signal } from '../../support/database/server-processes.ts';
import { startTestServer } from '../../support/database/server.ts';
import { scaled } from '../../support/busy.ts';
import { roundsOf } from './stored-nodes.ts';
import { until } from '../../support/until.ts';

/** Source: docs/promises.md, L3. */
const CALL_MS_MAX = 5_000;
const BACK_MS_MAX = 3_000;

test('with the database stopped no call hangs over 5 s, and all is well within 3 s of its return', async (t) => {
  const server = await startTestServer();
  const database = await openDatabase({ connection: server.connection, poolMax: 6, log: silentLog });
  t.teardown(async () => {
    await database.close();
    await server.stop();
  });
  await database.migrate();
  const { pool } = database;
  const reads = readsOf(database);
  const loader = createLoader(pool);
  const records = createRecords(pool);
  const sweeps = sweepsOf(pool);
  const registry = registryOf(database, 'me');
  const id = v7();
  const query = { filters: [], sort: [], page: 1, pageSize: 20 };
  const calls: readonly (() => Promise<unknown>)[] = [
    () => reads.ping(),
    () => reads.list('nodes', query),
    () => reads.list('command_executions', query),
    () => reads.get('clusters', 'a'),
    () => reads.get('nodes', id),
    () => reads.targets({ type: 'nodes', node_ids: [id] }),
    () => reads.targets({ type: 'all' }),
    () => reads.nodeByToken(new Uint8Array(32)),
    () => reads.executionNode(id as ExecutionId),
    () => reads.aliasNode(id),
    () => reads.recoveryKeyNode(id as never),
    () => reads.enrollmentKey(id),
    () => reads.nodeForEnrollment(id as NodeId),
    () => reads.idempotencyRecord('a', 'b'),
    () => reads.eventsAfter(null, 1),
    () => reads.freeRanges(),
    () => roundsOf(loader, id as ClusterId),
    () => loader.node(id as NodeId),
    () => loader.command(id as CommandId),
    () => records.deleteExecution(id as ExecutionId),
    () =>
      records.publish({
        type: 'edge.core.test',
        subject: id,
        atMs: Date.now(),
        data: { message: '', requested_at: '' },
      }),
    () => sweeps.expireDue(),
    () => sweeps.dropOrphans(),
    ...Object.values(sweeps.prunings).map((prune) => () => prune()),
    () => registry.me(),
  ];
  const all = () => until('an answer to each call', () => Promise.all(calls.map((call) => call())));
  await all(); // so that connections are open
  const pids = await processesOf((await server.pid())!);

  signal(pids, 'SIGSTOP');
  const outcomes = await Promise.all(
    calls.map(async (call) => {
      const startedMs = performance.now();
      const error = await call().then(
        () => null,
        (reason: unknown) => reason,
      );
      return {
        // of lists the last may still wait for its turn then
        unavailable:
          error instanceof DatabaseUnavailable && (error.cause instanceof Error || /its turn/u.test(error.message)),
        tookMs: performance.now() - startedMs,
        error,
        call: String(call),
      };
    }),
  );
  signal(pids, 'SIGCONT');

  for (const { unavailable, tookMs, error, call } of outcomes) {
    t.true(unavailable, `${call}: ${String(error)}`);
    t.true(tookMs < scaled(CALL_MS_MAX), `${call} took ${tookMs} ms`);
  }
  const backMs = performance.now();
  await all();
  t.true(performance.now() - backMs < scaled(BACK_MS_MAX));
});

test('a statement that is wrong is not taken for a database that is away', async (t) => {
  const { pool, orm } = await openedDatabase(t);

  const nul = "'a\0b'";
  for (const wrong of [
    pool.query('select nonsense'),
    orm.em.getConnection().execute('select nonsense'),
    pool.query(`select ${nul}`),
    pool.query('select $1::text', ['a\0b']),
    orm.em.getConnection().execute('select ?::text', ['a\0b']),
  ]) {
    const error = await t.throwsAsync(wrong);
    t.false(isUnavailable(error), error.message);
    t.false(isLost(error), error.message);
    t.is(asUnavailable(error, 'asking'), error);
  }
});

test('a slow or locked-out statement may be tried again, and only a cut connection means that the database is away', async (t) => {
  // it is the server that ends these, however late its word arrives
  const { pool, orm } = await openedDatabase(t, { queryMs: 60_000, idleInTransactionMs: 60_000 });
  const holder = await pool.connect();
  await holder.query('begin; lock table node');

  const causes = {
    slow: pool.query('select pg_sleep(60)'),
    locked: pool.query('select * from node'),
    cut: pool.query('select pg_terminate_backend(pg_backend_pid())'),
    'locked for MikroORM': orm.em.getConnection().execute('select * from node'),
    refused: openDatabase({
      connection: { host: '/nowhere', user: 'app', database: 'app' },
      poolMax: 2,
      log: silentLog,
    }).then((other) => other.migrate()),
  };
  const lost: string[] = [];
  for (const [name, cause] of Object.entries(causes)) {
    const error = await t.throwsAsync(cause);
    t.true(isUnavailable(error), name);
    t.false(asUnavailable(error, 'asking') instanceof Unanswered, name);
    if (isLost(error)) lost.push(name);
  }
  t.deepEqual(lost, ['cut', 'refused']);
  holder.release(true);
});

test('a server that does not answer in time, or has no connection left, is told from one that is away', async (t) => {
  const { pool } = await openedDatabase(t, { statementMs: 60_000, queryMs: 60_000 });
  const said = async (asked: Promise<unknown>) => asUnavailable(await t.throwsAsync(asked), 'asking');
  const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));

  const crowded = await said(pool.query('select 1'));
  for (const client of held) client.release();
  const silent = await said(pool.query({ text: 'select pg_sleep(60)', query_timeout: 100 } as QueryConfig));

  t.true(crowded instanceof Unanswered, String(crowded));
  t.true(silent instanceof Unanswered, String(silent));
});
