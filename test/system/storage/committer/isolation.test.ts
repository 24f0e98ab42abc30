/**
 * One unit of a batch that is locked out, too slow or wrong: it fails alone, and nobody else's write is refused or held
 * up for it (L4).
 */
import test, { type ExecutionContext } from 'ava';
import { DatabaseUnavailable, NothingWritten } from '../../../../actors/ports.ts';
import { ORM_CONNECTIONS_MAX } from '../../../../persistence/connections/database.ts';
import { COLD_WAITING_MAX } from '../../../../persistence/committer/cold-commits.ts';
import { BATCH_BYTES_MAX, BATCH_CHANGES_MAX, bytesOf, countOfBatch } from '../../../../persistence/committer/units.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { until } from '../../../support/until.ts';
import { change, finish, openFixture } from '../../../support/database/committer-fixture.ts';
import { SHORT_WAITS } from '../../../support/database/opened.ts';
import { isCrowded, scaled } from '../../../support/busy.ts';

/** No call takes longer, in ms. Source: docs/promises.md, L3. */
const CALL_MS_MAX = 5_000;

/** Callers wait for 4.5 s: all but the one at fault are well within it, in ms. */
const OTHERS_MS_MAX = 4_000;

/**
 * Neighbours of what waits for locks: well below the 2 s after which a connection that is not to be had is a lost
 * database.
 */
const CANCEL_NEIGHBOURS_MS_MAX = 1_000;

/** Tries of one that cannot be stored, about a second each. */
const TRIES_MAX = 16;

/**
 * On a crowded machine a neighbour may miss the time that the committer takes for all of a batch: nothing of it was
 * stored, and nothing stands in its way. Who is told that the database is away is not late.
 */
const isLate = (outcome: unknown): boolean => isCrowded() && String(outcome).includes('takes too long');

/** Tries of one that is late, as its caller would. */
const LATE_TRIES_MAX = 10;

/** A cluster whose node has so many executions. */
async function openExecutions(t: ExecutionContext, count: number) {
  const fixture = await openFixture(t, undefined, SHORT_WAITS);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const ids = await Promise.all(Array.from({ length: count }, () => fixture.execution(node)));
  const cluster = { kind: 'cluster-limited', cluster: lease.cluster, atMs: 0 } as const;
  return {
    fixture,
    lease,
    ids,
    first: ids[0] as ExecutionId,
    lockFirst: () => fixture.holder('select from command_execution where id = $1 for update', [ids[0]]),
    lockCluster: () => fixture.holder('select from cluster where id = $1 for update', [lease.cluster]),
    /** What a cold write came to, in words. */
    limit: (nodeLimit: number) =>
      fixture.commit(null, [{ ...cluster, nodeLimit }]).then(
        ([code]) => String(code),
        (error: unknown) => String(error),
      ),
    /** Runs this before an update of the first execution. */
    beforeFirst: async (statement: string) => {
      await fixture.rows(
        `create function meddle() returns trigger language plpgsql as $$ begin ${statement}; return new; end $$`,
      );
      await fixture.rows(
        `create trigger meddles before update on command_execution for each row when (old.id = '${ids[0]}') execute function meddle()`,
      );
    },
  };
}

/**
 * Commits a result for each, all at once: how each ended, when the first did, and when the last of the others. Those
 * that were late are committed again.
 */
async function storeAll({
  fixture,
  ids,
  lease,
}: Pick<Awaited<ReturnType<typeof openExecutions>>, 'fixture' | 'ids' | 'lease'>) {
  const beganMs = performance.now();
  let [firstMs, othersMs] = [0, 0];
  const store = (id: ExecutionId): Promise<unknown> =>
    fixture.commit(lease, [finish(id)]).then(
      ([code]) => code,
      (error: unknown) => error,
    );
  const [first, ...others] = await Promise.all(
    ids.map(async (id, index) => {
      let outcome = await store(id);
      const tookMs = performance.now() - beganMs;
      if (index === 0) firstMs = tookMs;
      else othersMs = Math.max(othersMs, tookMs);
      for (let tries = 0; isLate(outcome) && tries < LATE_TRIES_MAX; tries += 1) outcome = await store(id);
      return outcome;
    }),
  );
  return { first, others: new Set(others), firstMs, othersMs };
}

test('a row that somebody else has locked fails alone, soon enough for all others, and blocks nothing after it', async (t) => {
  const made = await openExecutions(t, 300);
  const holder = await made.lockFirst();

  const { first, others, firstMs, othersMs } = await storeAll(made);

  t.deepEqual(made.fixture.loud(), [], 'nothing is said of the database');
  t.true(first instanceof DatabaseUnavailable);
  t.deepEqual(others, new Set(['ok']));
  t.true(firstMs < scaled(CALL_MS_MAX), `${Math.round(firstMs)} ms`);
  t.true(othersMs < scaled(OTHERS_MS_MAX), `${Math.round(othersMs)} ms`);
  await holder.query('rollback');
  t.deepEqual(await made.fixture.commit(made.lease, [finish(made.first)]), ['ok']);
});

test('a unit that failed alone is not stored with others for a while, and holds up none of them', async (t) => {
  const made = await openExecutions(t, 40);
  const { fixture, ids, first, lease } = made;
  await made.lockFirst();
  await storeAll({ ...made, ids: ids.slice(0, 20) });

  const failedBefore = fixture.committer.counters.failed;
  const again = t.throwsAsync(fixture.commit(lease, [finish(first)]), { instanceOf: DatabaseUnavailable });
  const others = await Promise.all(ids.slice(20).map((id) => fixture.commit(lease, [finish(id)])));
  await again;

  t.deepEqual(new Set(others.flat()), new Set(['ok']));
  t.is(fixture.committer.counters.failed - failedBefore, 2, 'its own two tries, and no batch');
});

test('a unit that takes longer than a statement may fails alone', async (t) => {
  const made = await openExecutions(t, 100);
  await made.beforeFirst('perform pg_sleep(60)');

  const { first, others, othersMs } = await storeAll(made);

  t.deepEqual(made.fixture.loud(), [], 'nothing is said of the database');
  t.true(first instanceof DatabaseUnavailable);
  t.deepEqual(others, new Set(['ok']));
  t.true(othersMs < scaled(OTHERS_MS_MAX + 1_000), `${Math.round(othersMs)} ms`);
});

test('a unit that the database will never take fails alone, and is told of as such', async (t) => {
  const made = await openExecutions(t, 100);
  await made.beforeFirst("raise exception 'never'");

  const { first, others } = await storeAll(made);

  t.false(first instanceof DatabaseUnavailable);
  t.regex(String(first), /never/u);
  t.deepEqual(made.fixture.loud(), ['a change could not be stored']);
  t.deepEqual(others, new Set(['ok']));
});

test('cold writes that queue behind ones that meet a lock are stored, and no others are refused for it', async (t) => {
  const made = await openExecutions(t, 20);
  await made.lockCluster();

  const locked = Array.from({ length: 2 * ORM_CONNECTIONS_MAX }, () => made.limit(9));
  const healthy = made.fixture.cluster(); // waits for twice LOCK_MS_MAX, and so for longer than CONNECT_MS_MAX
  for (const outcome of await Promise.all(locked)) t.regex(outcome, /^DatabaseUnavailable/u);
  const { first, others } = await storeAll(made);
  await healthy;

  t.deepEqual(made.fixture.loud(), [], 'nothing is said of the database');
  t.deepEqual(others.add(first), new Set(['ok']));
});

test('so many cold writes may wait, and none is stored when nobody waits for it any more', async (t) => {
  const { fixture, lease, limit, lockCluster } = await openExecutions(t, 0);
  await lockCluster();

  const waiting = Array.from({ length: ORM_CONNECTIONS_MAX + COLD_WAITING_MAX }, (_, index) => limit(index + 1));
  const beyond = await limit(9_999);
  const outcomes = await Promise.all(waiting);

  t.regex(beyond, /too many wait already/u);
  t.deepEqual(
    outcomes.slice(0, ORM_CONNECTIONS_MAX).map((outcome) => outcome.includes('storing cluster-limited')),
    [true, true],
  );
  t.regex(outcomes.at(-1) ?? '', /Too many changes wait to be stored/u);
  t.deepEqual(await fixture.rows('select node_limit from cluster where id = $1', [lease.cluster]), [
    { node_limit: null },
  ]);
  t.deepEqual(fixture.loud(), []);
});

test('cancels of what somebody else holds keep neither the writes of others waiting nor the leases', async (t) => {
  const { fixture, lease, ids } = await openExecutions(t, 2 * ORM_CONNECTIONS_MAX);
  const node = await fixture.node(lease);
  const commands = await Promise.all(Array.from({ length: 9 }, async () => (await fixture.executions([node])).command));
  await fixture.holder('select from command_execution where command_id = any($1::uuid[]) for update', [commands]);

  const cancels = commands.map((command) =>
    fixture.commit(null, [{ kind: 'command-cancel-requested', command, atMs: 0 }]).then(
      ([code]) => code,
      (error: unknown) => error,
    ),
  );
  const beganMs = performance.now();
  const renewed = fixture.leases.renew(fixture.adminId, []);
  const { first, others } = await storeAll({ fixture, ids, lease });
  await renewed;
  const tookMs = performance.now() - beganMs;

  for (const outcome of await Promise.all(cancels)) t.true(outcome instanceof NothingWritten, String(outcome));
  t.deepEqual(others.add(first), new Set(['ok']));
  t.true(tookMs < scaled(CANCEL_NEIGHBOURS_MS_MAX), `${tookMs} ms`);
  t.deepEqual(fixture.loud(), []);
});

test('a deletion for which reads leave no connection is refused alone, and says nothing of the database', async (t) => {
  const made = await openExecutions(t, 1);
  const { pool } = made.fixture.database;
  const { command } = await made.fixture.executions([await made.fixture.node(made.lease)]);
  const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));

  const deleted = await made.fixture
    .commit(null, [{ kind: 'command-deleted', command }])
    .catch((error: unknown) => error);
  const { first } = await storeAll(made);
  for (const client of held) client.release();

  t.true(deleted instanceof NothingWritten, String(deleted));
  t.is(first, 'ok');
  t.deepEqual(made.fixture.loud(), []);
});

test('a batch is bounded by its rows and by its bytes, and one that is larger goes alone', (t) => {
  const waiting = (bytes: number, changes = 1) => ({
    unit: { lease: null, changes: Array.from({ length: changes }) as never },
    bytes,
    arrivedMs: 0,
    resolve: () => undefined,
    reject: () => undefined,
  });
  const many = (count: number, bytes: number) => Array.from({ length: count }, () => waiting(bytes));

  t.is(countOfBatch(many(BATCH_CHANGES_MAX + 1, 1)), BATCH_CHANGES_MAX);
  t.is(countOfBatch(many(99, BATCH_BYTES_MAX / 8)), 8);
  t.is(countOfBatch([waiting(BATCH_BYTES_MAX * 2), waiting(1)]), 1);
  t.is(countOfBatch([waiting(1, BATCH_CHANGES_MAX * 2), waiting(1)]), 1);
  const result = change(
    finish('00000000-0000-7000-8000-000000000001' as ExecutionId, {
      ending: { exitCode: 0, output: 'x'.repeat(1_048_576), parts: 0, truncated: false },
    }),
  );
  t.true(bytesOf(result as never) > 1_048_576);
});

test('whoever catches up waits for what was begun before, and not for what fails again and again', async (t) => {
  const { fixture, first, lease, lockFirst } = await openExecutions(t, 1);
  const holder = await lockFirst();
  let tries = 0;
  const caughtUp = new AbortController();
  const retry = async (): Promise<void> => {
    for (; !caughtUp.signal.aborted && tries < TRIES_MAX; tries += 1)
      await t.throwsAsync(fixture.commit(lease, [finish(first)]), { instanceOf: DatabaseUnavailable });
  };
  const retries = [retry(), retry()];
  await until('the first are over', () => tries >= 2);

  await fixture.committer.caughtUp();

  caughtUp.abort();
  t.true(tries < TRIES_MAX, `${tries} tries`);
  await Promise.all(retries);
  await holder.query('rollback');
});
