/**
 * One unit of a batch that is locked out, too slow or wrong: it fails alone, and nobody else's write is refused or held
 * up for it (L4).
 */
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { ORM_CONNECTIONS_MAX } from '../../../../persistence/database.ts';
import { COLD_WAITING_MAX } from '../../../../persistence/committer/cold-commits.ts';
import { BATCH_BYTES_MAX, BATCH_CHANGES_MAX, bytesOf, countOfBatch } from '../../../../persistence/committer/units.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { until } from '../../../support/until.ts';
import { change, finish, openFixture, type Fixture } from '../../../support/committer-fixture.ts';
import { patient } from '../../../support/busy.ts';

/** Callers wait for 4.5 s: all but the one at fault are well within it, in ms. */
const OTHERS_MS_MAX = 4_000;

/** Tries of one that cannot be stored, about a second each. */
const TRIES_MAX = 16;

async function scene(
  t: ExecutionContext,
  executions: number,
): Promise<{
  readonly fixture: Fixture;
  readonly ids: readonly ExecutionId[];
  readonly lease: Awaited<ReturnType<Fixture['cluster']>>;
  readonly other: Client;
}> {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const ids = [];
  for (let index = 0; index < executions; index += 1) ids.push(fixture.executions([node]));
  const made = await Promise.all(ids);
  const other = new Client(fixture.connection);
  await other.connect();
  t.teardown(() => other.end());
  return { fixture, lease, other, ids: made.map(({ executions: [id] }) => id as ExecutionId) };
}

/** Commits a result for each, all at once. How each ended, and when the last of them but the first did. */
async function storeAll({
  fixture,
  ids,
  lease,
}: Awaited<ReturnType<typeof scene>>): Promise<{ readonly outcomes: readonly unknown[]; readonly othersMs: number }> {
  const beganMs = performance.now();
  let othersMs = 0;
  const outcomes = await Promise.all(
    ids.map(async (id, index) => {
      const outcome = await fixture.commit(lease, [finish(id)]).then(
        ([code]) => code,
        (error: unknown) => error,
      );
      if (index > 0) othersMs = Math.max(othersMs, performance.now() - beganMs);
      return outcome;
    }),
  );
  return { outcomes, othersMs };
}

test('a row that somebody else has locked fails alone, soon enough for all others', async (t) => {
  const made = await scene(t, 300);
  const { fixture, ids, other } = made;
  await other.query('begin');
  await other.query('select from command_execution where id = $1 for update', [ids[0]]);

  const {
    outcomes: [locked, ...others],
    othersMs,
  } = await storeAll(made);

  t.true(locked instanceof DatabaseUnavailable);
  t.deepEqual(new Set(others), new Set(['ok']));
  t.true(othersMs < patient(OTHERS_MS_MAX), `${Math.round(othersMs)} ms`);
  t.deepEqual(
    fixture.log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
  await other.query('rollback');
  t.deepEqual(await fixture.commit(made.lease, [finish(ids[0] as ExecutionId)]), ['ok']);
});

test('a unit that failed alone is not stored with others for a while, and holds up none of them', async (t) => {
  const made = await scene(t, 40);
  const { fixture, ids, lease, other } = made;
  await other.query('begin');
  await other.query('select from command_execution where id = $1 for update', [ids[0]]);
  await storeAll({ ...made, ids: ids.slice(0, 20) });

  const failedBefore = fixture.committer.counters.failed;
  const again = t.throwsAsync(fixture.commit(lease, [finish(ids[0] as ExecutionId)]), {
    instanceOf: DatabaseUnavailable,
  });
  const others = await Promise.all(ids.slice(20).map((id) => fixture.commit(lease, [finish(id)])));
  await again;

  t.deepEqual(new Set(others.flat()), new Set(['ok']));
  t.is(fixture.committer.counters.failed - failedBefore, 2, 'its own two tries, and no batch');
});

test('a unit that takes longer than a statement may fails alone', async (t) => {
  const made = await scene(t, 100);
  const { fixture, ids, other } = made;
  await other.query(
    `create function doze() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$`,
  );
  await other.query(
    `create trigger dozes before update on command_execution for each row when (old.id = '${ids[0]}') execute function doze()`,
  );

  const {
    outcomes: [slow, ...others],
    othersMs,
  } = await storeAll(made);

  t.true(slow instanceof DatabaseUnavailable);
  t.deepEqual(new Set(others), new Set(['ok']));
  t.true(othersMs < patient(OTHERS_MS_MAX + 1_000), `${Math.round(othersMs)} ms`);
  t.deepEqual(
    fixture.log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

test('a unit that the database will never take fails alone, and is told of as such', async (t) => {
  const made = await scene(t, 100);
  const { fixture, ids, other } = made;
  await other.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'never'; end $$`,
  );
  await other.query(
    `create trigger refuses before update on command_execution for each row when (old.id = '${ids[0]}') execute function refuse()`,
  );

  const {
    outcomes: [refused, ...others],
  } = await storeAll(made);

  t.false(refused instanceof DatabaseUnavailable);
  t.regex(String(refused), /never/u);
  t.deepEqual(new Set(others), new Set(['ok']));
  t.deepEqual(
    fixture.log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message),
    ['a change could not be stored'],
  );
});

test('cold writes that queue behind ones that meet a lock are stored, and no others are refused for it', async (t) => {
  const made = await scene(t, 20);
  const { fixture, lease, other } = made;
  await other.query('begin');
  await other.query('select from cluster where id = $1 for update', [lease.cluster]);

  const locked = Array.from({ length: 2 * ORM_CONNECTIONS_MAX }, () =>
    t.throwsAsync(fixture.commit(null, [{ kind: 'cluster-limited', cluster: lease.cluster, nodeLimit: 9, atMs: 0 }]), {
      instanceOf: DatabaseUnavailable,
    }),
  );
  const healthy = fixture.cluster(); // waits for twice LOCK_MS_MAX, and so for longer than CONNECT_MS_MAX
  await Promise.all(locked);
  const { outcomes } = await storeAll(made);
  await healthy;

  t.deepEqual(new Set(outcomes), new Set(['ok']));
  t.deepEqual(
    fixture.log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

test('so many cold writes may wait, and none is stored when nobody waits for it any more', async (t) => {
  const { fixture, lease, other } = await scene(t, 0);
  await other.query('begin');
  await other.query('select from cluster where id = $1 for update', [lease.cluster]);
  const limit = (nodeLimit: number): Promise<string> =>
    fixture.commit(null, [{ kind: 'cluster-limited', cluster: lease.cluster, nodeLimit, atMs: 0 }]).then(
      ([code]) => String(code),
      (error: unknown) => String(error),
    );

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
  t.deepEqual(
    fixture.log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

test('a cold write that meets a lock fails alone: others are stored meanwhile', async (t) => {
  const made = await scene(t, 20);
  const { fixture, lease, other } = made;
  await other.query('begin');
  await other.query('select from cluster where id = $1 for update', [lease.cluster]);

  const cold = t.throwsAsync(
    fixture.commit(null, [{ kind: 'cluster-limited', cluster: lease.cluster, nodeLimit: 9, atMs: 0 }]),
    { instanceOf: DatabaseUnavailable },
  );
  await cold;
  const { outcomes } = await storeAll(made);

  t.deepEqual(new Set(outcomes), new Set(['ok']));
  t.deepEqual(
    fixture.log.lines.filter(({ level }) => level !== 'debug'),
    [],
  );
});

test('a batch is bounded by its rows and by its bytes, and one that is larger goes alone', (t) => {
  const waiting = (bytes: number, changes = 1) => ({
    unit: { lease: null, changes: Array.from({ length: changes }) as never },
    bytes,
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
  t.true(bytesOf([result as never]) > 1_048_576);
});

test('whoever catches up waits for what was begun before, and not for what fails again and again', async (t) => {
  const {
    fixture,
    ids: [id],
    lease,
    other,
  } = await scene(t, 1);
  await other.query('begin');
  await other.query('select from command_execution where id = $1 for update', [id]);
  let tries = 0;
  const caughtUp = new AbortController();
  const retry = async (): Promise<void> => {
    for (; !caughtUp.signal.aborted && tries < TRIES_MAX; tries += 1)
      await t.throwsAsync(fixture.commit(lease, [finish(id as ExecutionId)]), { instanceOf: DatabaseUnavailable });
  };
  const retries = [retry(), retry()];
  await until('the first are over', () => tries >= 2);

  await fixture.committer.caughtUp();

  caughtUp.abort();
  t.true(tries < TRIES_MAX, `${tries} tries`);
  await Promise.all(retries);
  await other.query('rollback');
});
