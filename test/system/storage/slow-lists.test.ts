/** Reads that are slow or locked out: no write and no lease waits for them (L1, L4). */
import test from 'ava';
import type { Filter } from '../../../actors/filters.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import { watchIncarnation } from '../../../persistence/incarnations/incarnation.ts';
import { commandRecord, NOW_MS } from '../../support/actors.ts';
import { registryOf } from '../../support/admin-registry.ts';
import { scaled } from '../../support/busy.ts';
import { change, openFixture, type Fixture } from '../../support/database/committer-fixture.ts';
import { LONG_WAITS, readsOf, SHORT_WAITS } from '../../support/database/opened.ts';
import { silentLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';

/** Far more than there are connections. */
const LISTS = 60;

/**
 * A call ends within this, in ms: it waits for its turn or a connection, and then for the lock. Source: invariants, L3.
 */
const ENDED_MS_MAX = 5_000;

const LOCK = 'lock table alias in access exclusive mode';

const listAliases = ({ database }: Fixture) => {
  const reads = readsOf(database);
  return Array.from({ length: LISTS }, () =>
    reads.list('aliases', { filters: [], sort: [], page: 1, pageSize: 20 }).catch((error: unknown) => error),
  );
};

/** Each takes a connection of the reads, and there are no more. */
const readAliases = ({ database: { pool } }: Fixture) =>
  Array.from({ length: pool.options.max }, () => pool.query('select from alias'));

for (const [what, read, holding] of [
  ['any number of lists', listAliases, 1 / 2],
  ['reads on all of their connections', readAliases, 1],
] as const) {
  test(`while a lock blocks ${what}, a write and a renewal get connections and end before the lock`, async (t) => {
    const fixture = await openFixture(t);
    const { pool } = fixture.database;
    // What holds a connection gives it back when the lock is gone, and not by itself.
    Object.assign(pool.options, { lock_timeout: 0, statement_timeout: 0, query_timeout: 0 });
    const holder = await fixture.holder(LOCK);

    const reads = read(fixture);
    const held = pool.options.max * holding;
    const observer = await openFixture(t, fixture.connection);
    await observer.waiting(held);
    t.deepEqual(
      await fixture.commit(null, [change({ kind: 'command-created', command: commandRecord(), executions: [] })]),
      ['ok'],
    );
    await fixture.leases.renew(fixture.adminId, []);
    t.is((await observer.waiting(held)).length, held, 'they hold their connections still');
    await holder.query('rollback');
    await Promise.all(reads);

    t.deepEqual(fixture.loud(), []);
  });
}

test('a round of the leases checks in though readers and cold writes hold all connections that are theirs', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  const { database } = fixture;
  const registry = registryOf(database, 'me');
  const watch = await until('the incarnation', () => watchIncarnation(database, 'me', silentLog));
  await until('the first check-in', () => registry.checkIn());
  const lease = await fixture.cluster();
  const nodes = [await fixture.node(lease), await fixture.node(lease)];
  const holder = await fixture.holder(LOCK);
  const writing = nodes.map((node) =>
    fixture.committer.commit(lease, [change({ kind: 'node-deleted', node, atMs: NOW_MS })], false),
  );
  const reads = readAliases(fixture);
  const held = database.pool.options.max + writing.length;
  const observer = await openFixture(t, fixture.connection);
  await observer.waiting(held);

  t.true(await watch.compared());
  await registry.checkIn();

  t.is((await observer.waiting(held)).length, held, 'they hold their connections still');
  await holder.query('rollback');
  await Promise.all(reads);
  t.deepEqual((await Promise.all(writing)).flat(), [], 'nothing was refused');
});

test('watchers of events who come back at once, however many, leave other reads their connections as lists do', async (t) => {
  const fixture = await openFixture(t);
  const { database } = fixture;
  Object.assign(database.pool.options, { lock_timeout: 0, statement_timeout: 0, query_timeout: 0 });
  const holder = await fixture.holder('lock table event in access exclusive mode');
  const reads = readsOf(database);

  const missed = Array.from({ length: LISTS }, (_none, n) => reads.missedEvents(`1-${n}`, 500).catch(() => null));
  const held = database.pool.options.max / 2;
  const observer = await openFixture(t, fixture.connection);
  await observer.waiting(held);

  await reads.nodeByToken(Buffer.alloc(32));
  t.is((await observer.waiting(held)).length, held, 'they hold their connections still');
  await holder.query('rollback');
  await Promise.all(missed);
});

test('lists of a table that somebody has locked, however many are asked for, end in time', async (t) => {
  const fixture = await openFixture(t, undefined, SHORT_WAITS);
  await fixture.holder(LOCK);
  const beganMs = performance.now();

  const answers = await Promise.all(listAliases(fixture));

  t.true(answers.every((error) => error instanceof DatabaseUnavailable));
  const tookMs = performance.now() - beganMs;
  t.true(tookMs < scaled(ENDED_MS_MAX), `${Math.round(tookMs)} ms`);
});

test('a list too long for its filters names one to add; with that, or none, a slow database counts as unavailable', async (t) => {
  const fixture = await openFixture(t);
  const node = await fixture.node(await fixture.cluster());
  const { command } = await fixture.executions([node]);
  const { database } = await openFixture(t, fixture.connection, { statementMs: 500 });
  // a new connection asks the server when it began, which a busy one may not answer in that time
  await until('connections', () => Promise.all([1, 2].map(() => database.pool.query('select 1'))));
  // as if there were ten million rows: looking at one takes long
  await fixture.rows('alter table command_execution rename to long');
  await fixture.rows('create view command_execution as select * from long where pg_sleep(1) is not null');
  const list = (...filters: readonly Filter[]): Promise<unknown> =>
    readsOf(database)
      .list('command_executions', { filters, sort: [], page: 1, pageSize: 20 })
      .catch((error: unknown) => error);
  const filter = (field: string, value: Filter['value'], op: Filter['op'] = 'eq'): Filter => ({ field, op, value });

  for (const wide of [
    filter('exit_code', 1),
    filter('target_all', false),
    filter('status', ['sent', 'completed'], 'in'),
  ])
    t.like(await list(wide), {
      name: 'ListTooLong',
      message:
        'The list is too long for these filters: add command_id or node_id, or status=pending,sent for what is not over.',
    });
  for (const narrow of [
    [],
    [filter('command_id', command)],
    [filter('node_id', [node], 'in')],
    [filter('target_all', false), filter('status', ['pending'], 'in')],
  ])
    t.true((await list(...narrow)) instanceof DatabaseUnavailable);
});
