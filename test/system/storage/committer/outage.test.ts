/** The database goes away while things are stored: nobody hangs, nothing is half stored, and it goes on (L3). */
import test from 'ava';
import { Client } from 'pg';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS, WELL } from '../../../support/actors.ts';
import { startTestServer } from '../../../support/server.ts';
import { until } from '../../../support/until.ts';
import { openDatabase } from '../../../../persistence/database.ts';
import { silentLog } from '../../../support/log.ts';
import { change, finish, openFixture, type Fixture } from '../../../support/committer-fixture.ts';
import { patient } from '../../../support/busy.ts';

/** No call hangs longer, in ms. Source: docs/promises.md, L3. */
const HANG_MS_MAX = 5_000;

/** Service is back within this after the database is, in ms. Source: docs/promises.md, L3. */
const BACK_MS_MAX = 3_000;

test('a connection that is killed in the middle of a batch leaves all of it or nothing, and the next batch is stored', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const nodes = [await fixture.node(lease), await fixture.node(lease)];
  const {
    executions: [a = '' as ExecutionId, b = '' as ExecutionId],
  } = await fixture.executions(nodes);
  const blocker = new Client(fixture.connection);
  await blocker.connect();
  await blocker.query('begin');
  // statuses are stored last: the executions are written and not committed
  await blocker.query('select 1 from node where id = $1 for update', [nodes[1]]);
  const storing = fixture.commit(lease, [
    finish(a),
    finish(b),
    { kind: 'node-status', node: nodes[1]!, status: 'healthy', standing: WELL, atMs: NOW_MS },
  ]);
  const waiting = await until(
    'the batch waits',
    async () =>
      (
        await fixture.rows<{ pid: number }>(
          "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
      )[0],
  );
  await blocker.query('select pg_terminate_backend($1)', [waiting.pid]);

  await t.throwsAsync(storing, { instanceOf: DatabaseUnavailable });
  await blocker.query('rollback');
  await blocker.end();

  t.deepEqual(
    [(await fixture.row(a))['status'], (await fixture.row(b))['status'], await fixture.eventsOf(a)],
    ['pending', 'pending', []],
  );
  await fixture.committer.ready();
  t.deepEqual(await fixture.commit(lease, [finish(a), finish(b)]), ['ok', 'ok']);
});

test('who watches hears what was stored when the connection was lost, and nothing that was not', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const {
    command,
    executions: [stored = '' as ExecutionId],
  } = await fixture.executions([node]);
  const {
    executions: [lost = '' as ExecutionId],
  } = await fixture.executions([node]);
  const notice = (execution: ExecutionId) => ({
    type: 'execution-changed' as const,
    execution,
    command,
    node,
    clusterName: 'c',
    status: 'completed' as const,
    exitCode: 0,
  });
  // The batch waits for the row of the second; meanwhile the first ends by another hand, as it would if the commit had
  // come through.
  const holder = new Client(fixture.connection);
  await holder.connect();
  await holder.query('begin');
  await holder.query('select 1 from command_execution where id = $1 for update', [lost]);
  const told = fixture.notices.length;
  const storing = fixture.commit(
    lease,
    [stored, lost].map((execution) => ({ ...change(finish(execution)), notices: [notice(execution)] })),
  );
  const unstored = t.throwsAsync(storing, { instanceOf: DatabaseUnavailable });
  const waiting = await until(
    'the batch waits',
    async () =>
      (
        await fixture.rows<{ pid: number }>(
          "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        )
      )[0],
  );
  await holder.query('select pg_terminate_backend($1)', [waiting.pid]);
  await unstored;
  await fixture.rows(
    "update command_execution set status = 'cancelled', exit_code = 143, cancelled_at = now(), finished_at = now() where id = $1",
    [stored],
  );
  await holder.query('rollback');
  await holder.end();

  await until('they are told', () => fixture.notices.slice(told).some((one) => one.type === 'execution-changed'));

  // By the first look or by the second, which says that it may not have been the first.
  t.deepEqual(
    new Set(
      fixture.notices
        .slice(told)
        .filter((one) => one.type === 'execution-changed')
        .map(({ again: _again, ...one }) => one),
    ),
    new Set([{ ...notice(stored), status: 'cancelled', exitCode: 143 }]) as never,
  );
});

test('a row that another transaction holds for too long is a failure in time, and blocks nothing after it', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([await fixture.node(lease)]);
  const holder = new Client(fixture.connection);
  await holder.connect();
  await holder.query('begin');
  await holder.query('select 1 from command_execution for update');
  const began = performance.now();

  await t.throwsAsync(fixture.commit(lease, [finish(execution)]), { instanceOf: DatabaseUnavailable });

  t.true(performance.now() - began < patient(HANG_MS_MAX));
  await holder.query('rollback');
  await holder.end();
  await fixture.committer.ready();
  t.deepEqual(await fixture.commit(lease, [finish(execution)]), ['ok']);
});

test.serial(
  'a paused server: calls fail within 5 s, later ones at once, and all is back within 3 s of its return',
  async (t) => {
    const server = await startTestServer();
    t.teardown(() => server.stop());
    const prepared = await openDatabase({ connection: server.connection, poolMax: 4, log: silentLog });
    await prepared.migrate();
    await prepared.close();
    const fixture = await openFixture(t, server.connection);
    const lease = await fixture.cluster();
    const node = await fixture.node(lease);
    const {
      executions: [execution = '' as ExecutionId],
    } = await fixture.executions([node]);
    const pids = [
      (await server.pid()) ?? 0,
      ...(await fixture.rows<{ pid: number }>('select pid from pg_stat_activity where pid <> pg_backend_pid()')).map(
        (row) => row.pid,
      ),
      (await fixture.rows<{ pid: number }>('select pg_backend_pid() as pid'))[0]!.pid,
    ];
    signal(pids, 'SIGSTOP');
    t.teardown(() => signal(pids, 'SIGCONT'));

    const slow = await timed(() => fixture.commit(lease, [finish(execution)]));
    const fast = await Promise.all([
      timed(() => fixture.commit(lease, [finish(execution)])),
      timed(() =>
        fixture.commit(lease, [
          { kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash: Buffer.alloc(32), atMs: NOW_MS },
        ]),
      ),
    ]);

    t.true(slow.error instanceof DatabaseUnavailable);
    t.true(slow.ms < HANG_MS_MAX, `${slow.ms} ms`);
    for (const { error, ms } of fast) {
      t.true(error instanceof DatabaseUnavailable);
      t.true(ms < slow.ms / 2, `${ms} ms, although it is known to be away`);
    }

    signal(pids, 'SIGCONT');
    const back = await timed(async () => {
      await fixture.committer.ready();
      await fixture.commit(lease, [finish(execution)]);
    });
    t.is(back.error, undefined);
    t.true(back.ms < BACK_MS_MAX, `${back.ms} ms`);
    t.is((await fixture.row(execution))['status'], 'completed');
  },
);

test('a crowd that waits when the database goes away is told at once, not one batch after the other', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const holder = await locked(fixture);
  const began = performance.now();

  const outcomes = await Promise.allSettled(
    Array.from({ length: 9 }, () =>
      fixture.commit(
        lease,
        Array.from({ length: 1_000 }, () => ({
          kind: 'node-status' as const,
          node,
          status: 'healthy' as const,
          standing: WELL,
          atMs: NOW_MS,
        })),
      ),
    ),
  );

  t.deepEqual(new Set(outcomes.map((outcome) => outcome.status)), new Set(['rejected']));
  t.true(performance.now() - began < patient(HANG_MS_MAX));
  await holder.end();
});

test("changes that stand in each other's way are stored by trying again, and the database is not taken for lost", async (t) => {
  const fixture = await openFixture(t);

  // On a busy machine the batch may give up waiting before all of them stand in line: then they meet once more.
  const met = await until('the batch to notice', async () => meet(fixture));

  t.deepEqual(met.results, ['ok', 'ok']);
  t.false(met.log.some((line) => line.message.includes('not available')));
});

/**
 * In line for an execution: a batch, then a rival, who has the node that the batch wants next. Null when the batch was
 * not in time.
 */
async function meet(
  fixture: Fixture,
): Promise<{ readonly results: unknown; readonly log: Fixture['log']['lines'] } | null> {
  const logged = fixture.log.lines.length;
  const lease = await fixture.cluster();
  const [low = '', high = ''] = [await fixture.node(lease), await fixture.node(lease)].toSorted();
  const {
    executions: [execution = '' as ExecutionId],
  } = await fixture.executions([low as never]);
  const [first, rival] = [new Client(fixture.connection), new Client(fixture.connection)];
  await Promise.all([first.connect(), rival.connect()]);
  try {
    await rival.query("set deadlock_timeout = '60 s'"); // the batch is the one that notices
    await rival.query('begin');
    await rival.query('select 1 from node where id = $1 for update', [high]);
    await first.query('begin');
    await first.query('select 1 from command_execution where id = $1 for update', [execution]);

    const storing = fixture
      .commit(lease, [
        finish(execution),
        { kind: 'node-status', node: high as never, status: 'healthy', standing: WELL, atMs: NOW_MS },
      ])
      .catch(() => null);
    const inLine = async (count: number) =>
      until(
        `${count} in line`,
        async () =>
          (
            await fixture.rows(
              "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
            )
          ).length === count,
      );
    await inLine(1);
    const wanting = rival.query('select 1 from command_execution where id = $1 for update', [execution]);
    const late = await Promise.race([
      inLine(2).then(
        () => false,
        () => true,
      ),
      storing.then(() => true),
    ]);
    await first.query('commit');
    await wanting;
    await rival.query('commit');
    const results = await storing;
    return late || results === null ? null : { results, log: fixture.log.lines.slice(logged) };
  } finally {
    await Promise.all([first.end(), rival.end()]);
  }
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      if (pid > 0) process.kill(pid, name);
    } catch {
      // it has ended
    }
  }
}

async function timed(work: () => Promise<unknown>): Promise<{ readonly ms: number; readonly error: unknown }> {
  const began = performance.now();
  try {
    await work();
    return { ms: performance.now() - began, error: undefined };
  } catch (error) {
    return { ms: performance.now() - began, error };
  }
}

async function locked(fixture: Fixture): Promise<Client> {
  const holder = new Client(fixture.connection);
  await holder.connect();
  await holder.query('begin');
  await holder.query('lock table node in access exclusive mode');
  return holder;
}
