/** What the owner of nodes reads when another admin says that it stored something for them. */
import test, { type ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import { createForgottenLooks, findForgotten, wokenRows } from '../../../persistence/sweeps/forgotten.ts';
import { NOW_MS } from '../../support/actors.ts';
import { openFixture } from '../../support/database/committer-fixture.ts';
import { countedReads } from '../../support/database/rows-read.ts';
import { storeWaiting } from '../../support/database/stored-rows.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';

/** Three nodes of this admin, one of another, and a command on all of them. */
async function open(t: ExecutionContext) {
  const fixture = await openFixture(t);
  const [mine, theirs] = [await fixture.cluster(), await fixture.cluster()];
  await fixture.rows('update cluster_ownership set admin_id = $2 where cluster_id = $1', [theirs.cluster, v7()]);
  const own = [await fixture.node(mine), await fixture.node(mine), await fixture.node(mine)];
  const stored = await fixture.executions([...own, await fixture.node(theirs)]);
  return { fixture, mine, own, ...stored };
}

test('nodes of this admin are named on which one of the commands is pending, at most so many', async (t) => {
  const { fixture, mine, own, command, executions } = await open(t);
  const [first] = executions;
  if (first === undefined) throw new Error('no execution');
  const other = await fixture.executions(own);
  await fixture.store(mine, { kind: 'execution-sent', execution: first, atMs: NOW_MS });
  const { pendingOf } = wokenRows(fixture.database.pool, fixture.adminId);

  t.deepEqual((await pendingOf([command])).toSorted(), own.slice(1).toSorted());
  t.deepEqual((await pendingOf([command, other.command])).toSorted(), own.toSorted());
  t.deepEqual(await pendingOf([v7() as never]), []);

  const few = wokenRows(fixture.database.pool, fixture.adminId, 2);
  t.is((await few.pendingOf([other.command])).length, 2);
});

test('executions on nodes of this admin are named that are to be cancelled and are not over, at most so many', async (t) => {
  const { fixture, own, command, executions } = await open(t);
  const rows = wokenRows(fixture.database.pool, fixture.adminId);
  t.deepEqual(await rows.cancelsOf([command]), []);

  await fixture.store(null, { kind: 'command-cancel-requested', command, atMs: NOW_MS });

  const wanted = own.map((node, index) => ({ node, execution: executions[index] }));
  const byNode = (one: { readonly node: string }, other: { readonly node: string }) => (one.node < other.node ? -1 : 1);
  t.deepEqual((await rows.cancelsOf([command])).toSorted(byNode), wanted.toSorted(byNode) as never);
  t.is((await wokenRows(fixture.database.pool, fixture.adminId, 2).cancelsOf([command])).length, 2);
});

test('after a silence everything of reachable nodes is named, however short ago it was stored', async (t) => {
  const { fixture, own } = await open(t);
  await fixture.rows(`update node set status = 'healthy'`);
  await fixture.rows(`update command_execution set inserted_at = clock_timestamp()`);

  const { pending } = await wokenRows(fixture.database.pool, fixture.adminId).findMissed();

  t.deepEqual(pending.toSorted(), own.toSorted());
});

test('each look for what stands still goes on behind the one before, so that nothing is hidden by what stays as it is', async (t) => {
  const { fixture, mine, own, executions } = await open(t);
  await fixture.rows(`update node set status = 'healthy'`);
  for (const execution of executions.slice(0, own.length))
    await fixture.store(mine, { kind: 'execution-cancel-requested', execution, atMs: NOW_MS });
  await fixture.rows(`update command_execution set inserted_at = '2026-01-01'`);
  const look = createForgottenLooks(fixture.database.pool, fixture.adminId, 2);

  const looks = [await look(), await look(), await look()];

  const [first, second, third] = own.toSorted();
  t.deepEqual(
    looks.map(({ pending }) => pending),
    [[first, second], [third], [first, second]] as never,
  );
  const cancelled = executions.slice(0, own.length).toSorted();
  t.deepEqual(
    looks.map(({ cancels }) => cancels.map(({ execution }) => execution)),
    [cancelled.slice(0, 2), cancelled.slice(2), cancelled.slice(0, 2)],
  );
});

test('of nodes that are away what is pending is named once it is cancelled, and nothing else', async (t) => {
  const { fixture, mine, own, command, executions } = await open(t);
  const [first, ...pending] = executions.slice(0, own.length);
  if (first === undefined) throw new Error('no execution');
  await fixture.store(mine, { kind: 'execution-sent', execution: first, atMs: NOW_MS });
  await fixture.rows(`update node set status = 'unreachable'`);
  const { findMissed } = wokenRows(fixture.database.pool, fixture.adminId);

  t.deepEqual(await findMissed(), { pending: [], cancels: [], expired: [] });
  await fixture.store(null, { kind: 'command-cancel-requested', command, atMs: NOW_MS });

  t.deepEqual((await findMissed()).cancels.map(({ execution }) => execution).toSorted(), pending.toSorted());
});

/** As many as make a fleet, like one that is there. */
const MORE_NODES = `insert into node select (jsonb_populate_record(node, jsonb_build_object('id', uuidv7(), 'token_hash', sha256(number::text::bytea)))).*
  from node, generate_series(1, 1000) number where id = $1`;

test('looks for forgotten, missed or orphaned rows do not read what waits for absent nodes, however much it is', async (t) => {
  const { fixture, own } = await open(t);
  const [here, away, later] = own;
  if (here === undefined || away === undefined || later === undefined) throw new Error('no nodes');
  await fixture.rows(`update node set status = case when id = $1 then 'healthy' else 'unreachable' end`, [here]);
  await fixture.rows(MORE_NODES, [here]);
  const { pool, readBy } = countedReads(t, fixture.database.pool);
  const { findMissed } = wokenRows(pool, fixture.adminId);
  const sweeps = sweepsOf(pool);
  const looks = {
    forgotten: () => findForgotten(pool, fixture.adminId, 0, 1_000),
    missed: findMissed,
    orphaned: () => sweeps.dropOrphans(),
  };
  for (const node of [away, later]) {
    await storeWaiting(fixture.database.pool, node, 20_000);
    await fixture.rows('analyze');

    for (const [what, look] of Object.entries(looks)) {
      const read = await readBy(look);
      t.true(read < 100, `${what}: ${read}`);
    }
  }
  t.deepEqual((await findForgotten(pool, fixture.adminId, 0, 1_000)).pending, [here]);
});
