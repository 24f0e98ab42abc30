/**
 * Deleting and cancelling what has very many executions: in short transactions, each within the time of a statement.
 */
import test from 'ava';
import { v7 } from 'uuid';
import { DatabaseUnavailable, NothingWritten } from '../../../../actors/ports.ts';
import { CHUNK_EXECUTIONS_MAX } from '../../../../persistence/committer/chunks.ts';
import type { CommandId, NodeId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { openFixture, type Fixture } from '../../../support/database/committer-fixture.ts';
import { storeCommands } from '../../../support/database/stored-rows.ts';
import { sweepsOf } from '../../../support/database/sweeps.ts';

/** Three transactions, the last of which is not full. `EXECUTIONS=150000` shows what the issue was. */
const EXECUTIONS = Number(process.env['EXECUTIONS'] ?? 2 * CHUNK_EXECUTIONS_MAX + 1_000);

/** By one statement of the test, within the time that a statement has on a busy machine too. */
const STORED_AT_ONCE = 2_000;

/** So many open executions: of one node, or of one command and as many nodes. */
async function store(fixture: Fixture, node: NodeId | null): Promise<CommandId> {
  const command = v7() as CommandId;
  await storeCommands(fixture.database.pool, [command]);
  for (let done = 0; done < EXECUTIONS; done += STORED_AT_ONCE) {
    await fixture.rows(
      `insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at)
      select uuid_v7(), case when $1::uuid is null then $2::uuid else gen_random_uuid() end, coalesce($1::uuid, gen_random_uuid()), 'c', true, now(), now() from generate_series(1, $3::int)`,
      [node, command, Math.min(STORED_AT_ONCE, EXECUTIONS - done)],
    );
  }
  return command;
}

const statuses = async (fixture: Fixture) =>
  Object.fromEntries(
    (
      await fixture.rows<{ status: string; count: number }>(
        'select status, count(*)::int as count from command_execution group by status',
      )
    ).map(({ status, count }) => [status, count]),
  );

test('a node with very many waiting executions is deleted; what is beyond a chunk is dropped right behind it', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  await store(fixture, node);

  t.deepEqual(await fixture.commit(lease, [{ kind: 'node-deleted', node, atMs: NOW_MS }]), ['ok']);
  t.deepEqual(await statuses(fixture), { dropped: CHUNK_EXECUTIONS_MAX, pending: EXECUTIONS - CHUNK_EXECUTIONS_MAX });
  t.deepEqual(await fixture.rows('select from node where id = $1', [node]), []);

  const sweeps = sweepsOf(fixture.database.pool);
  let dropped = 0;
  for (let more = true; more;) {
    const { executions, isFull } = await sweeps.dropOf(node);
    dropped += executions.length;
    more = isFull;
  }
  t.is(dropped, EXECUTIONS - CHUNK_EXECUTIONS_MAX);
  t.deepEqual(await statuses(fixture), { dropped: EXECUTIONS });
});

test('executions of a node that is there are dropped by nobody', async (t) => {
  const fixture = await openFixture(t);
  const node = await fixture.node(await fixture.cluster());
  await fixture.executions([node]);

  t.deepEqual(await sweepsOf(fixture.database.pool).dropOf(node), { executions: [], isFull: false });
  t.deepEqual(await statuses(fixture), { pending: 1 });
});

test('a command with very many executions is cancelled, refused to be deleted while one is open, and then deleted', async (t) => {
  const fixture = await openFixture(t);
  const command = await store(fixture, null);
  const marked = async () =>
    (
      await fixture.rows<{ count: number }>(
        'select count(*)::int as count from command_execution where cancel_requested_at is not null',
      )
    )[0]?.count;

  t.deepEqual(await fixture.commit(null, [{ kind: 'command-cancel-requested', command, atMs: NOW_MS }]), ['ok']);
  t.is(await marked(), EXECUTIONS);

  t.deepEqual(await fixture.commit(null, [{ kind: 'command-deleted', command }]), ['conflict']);
  t.deepEqual(await statuses(fixture), { pending: EXECUTIONS });

  for (let left = EXECUTIONS; left > 0; left -= STORED_AT_ONCE)
    await fixture.rows(
      `update command_execution set status = 'cancelled', exit_code = 143, cancelled_at = now(), finished_at = now() where id in (select id from command_execution where finished_at is null limit $1)`,
      [STORED_AT_ONCE],
    );
  t.deepEqual(await fixture.commit(null, [{ kind: 'command-deleted', command }]), ['ok']);
  t.deepEqual([await statuses(fixture), (await fixture.rows('select from command')).length], [{}, 0]);
});

test('a stored cancel whose command change failed may be done: its error does not say that nothing happened', async (t) => {
  const fixture = await openFixture(t);
  const command = await store(fixture, null);
  const { writes } = fixture.database;
  const connect = writes.connect.bind(writes);
  const cut = Object.assign(new Error('cut'), { code: 'ECONNREFUSED' });
  t.teardown(() => Object.assign(writes, { connect }));
  Object.assign(writes, {
    connect: (done?: (error: Error) => void) => (done === undefined ? Promise.reject(cut) : done(cut)),
  });

  const change = {
    write: { kind: 'command-cancel-requested', command, atMs: NOW_MS },
    events: [],
    notices: [],
  } as const;
  const error = await t.throwsAsync(fixture.committer.commit(null, [change]), { instanceOf: DatabaseUnavailable });

  t.false(error instanceof NothingWritten);
  t.is((await fixture.rows('select from command_execution where cancel_requested_at is null')).length, 0);
});
