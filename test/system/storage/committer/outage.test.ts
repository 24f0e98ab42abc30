/** The database goes away while things are stored: nobody hangs, nothing is half stored, and it goes on (L3). */
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { isLost } from '../../../../persistence/connections/availability.ts';
import { openDatabase } from '../../../../persistence/connections/database.ts';
import type { ExecutionId } from '../../../../transport/protocol/ids.ts';
import { NOW_MS } from '../../../support/actors.ts';
import { scaled } from '../../../support/busy.ts';
import { change, finish, openFixture, well, type Fixture } from '../../../support/database/committer-fixture.ts';
import { silentLog } from '../../../support/log.ts';
import { SHORT_WAITS } from '../../../support/database/opened.ts';
import { processesOf, signal } from '../../../support/database/server-processes.ts';
import { startTestServer } from '../../../support/database/server.ts';
import { until } from '../../../support/until.ts';

/** No call hangs longer, in ms. Source: docs/promises.md, L3. */
const HANG_MS_MAX = 5_000;

/** Service is back within this after the database is, in ms. Source: docs/promises.md, L3. */
const BACK_MS_MAX = 3_000;

/** What is refused at once takes a few turns of the event loop. */
const TURNS_MAX = 100;

/**
 * Whoever updates this row loses its connection, in the middle of what it does. What is told takes it back: then it is
 * updated as any other.
 */
async function losing(
  fixture: Fixture,
  table: 'node' | 'command_execution',
  id: string,
): Promise<() => Promise<unknown>> {
  await fixture.rows(
    'create function lose() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()), pg_sleep(60); return new; end $$',
  );
  await fixture.rows(
    `create trigger loses before update on ${table} for each row when (old.id = '${id}') execute function lose()`,
  );
  return () => fixture.rows(`drop trigger loses on ${table}`);
}

test('a connection that is killed in the middle of a batch leaves all of it or nothing, and the next batch is stored', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const [one, other] = [await fixture.node(lease), await fixture.node(lease)];
  const [a, b] = [await fixture.execution(one), await fixture.execution(other)];
  // statuses are stored last: the executions are written and not committed
  const found = await losing(fixture, 'node', other);

  const lost = await t.throwsAsync(fixture.commit(lease, [finish(a), finish(b), well(other)]), {
    instanceOf: DatabaseUnavailable,
  });
  await found();

  t.true(isLost(lost), String(lost?.cause));

  t.deepEqual([await fixture.statuses(a, b), await fixture.eventsOf(a)], [['pending', 'pending'], []]);
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
  const lost = await fixture.execution(node);
  const notice = (execution: ExecutionId) => ({
    type: 'execution-changed' as const,
    execution,
    command,
    node,
    clusterName: 'c',
    status: 'completed' as const,
    exitCode: 0,
  });
  // The first has ended by another hand, as its row would say if the commit had come through; the batch does not hear
  // of that, as it is lost at the second.
  await fixture.rows(
    "update command_execution set status = 'cancelled', exit_code = 143, cancelled_at = now(), finished_at = now() where id = $1",
    [stored],
  );
  await losing(fixture, 'command_execution', lost);
  const told = fixture.notices.length;

  await t.throwsAsync(
    fixture.commit(
      lease,
      [stored, lost].map((execution) => ({ ...change(finish(execution)), notices: [notice(execution)] })),
    ),
    { instanceOf: DatabaseUnavailable },
  );

  const heard = () => fixture.notices.slice(told).filter((one) => one.type === 'execution-changed');
  await until('they are told', () => heard().length > 0);

  // By the first look or by the second, which says that it may not have been the first.
  t.deepEqual(
    new Set(heard().map(({ again: _again, ...one }) => one)),
    new Set([{ ...notice(stored), status: 'cancelled', exitCode: 143 }]) as never,
  );
});

test('a deletion whose connection was lost is told where the row is gone, and not where it is still there', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const [gone, kept, other] = [await fixture.node(lease), await fixture.node(lease), await fixture.node(lease)];
  await fixture.rows('delete from node where id = $1', [gone]);
  await losing(fixture, 'node', other);
  const told = fixture.notices.length;
  const notices = [gone, kept].map((node) => ({ type: 'node-removed' as const, node }));

  await t.throwsAsync(fixture.commit(lease, [{ ...change(well(other)), notices }]), {
    instanceOf: DatabaseUnavailable,
  });

  const heard = () => fixture.notices.slice(told).filter((one) => one.type === 'node-removed');
  await until('it is told', () => heard().length > 0);

  t.deepEqual(new Set(heard().map(({ node }) => node)), new Set([gone]));
});

test.serial(
  'while the server is paused calls fail within 5 s, later ones at once, and all is back within 3 s of its return',
  async (t) => {
    const server = await startTestServer();
    t.teardown(() => server.stop());
    const prepared = await openDatabase({ connection: server.connection, poolMax: 4, log: silentLog });
    await prepared.migrate();
    await prepared.close();
    const fixture = await openFixture(t, server.connection, SHORT_WAITS);
    const lease = await fixture.cluster();
    const node = await fixture.node(lease);
    const execution = await fixture.execution(node);
    const pids = await processesOf((await server.pid()) ?? 0);
    signal(pids, 'SIGSTOP');
    t.teardown(() => signal(pids, 'SIGCONT'));

    const slow = await timed(() => fixture.commit(lease, [finish(execution)]));
    const fast = await Promise.all([
      atOnce(() => fixture.commit(lease, [finish(execution)])),
      atOnce(() =>
        fixture.commit(lease, [
          { kind: 'recovery-key-set', node, cluster: lease.cluster, keyHash: Buffer.alloc(32), atMs: NOW_MS },
        ]),
      ),
    ]);

    t.true(slow.error instanceof DatabaseUnavailable);
    t.true(slow.ms < scaled(HANG_MS_MAX), `${slow.ms} ms`);
    for (const error of fast) t.true(error instanceof DatabaseUnavailable, String(error));

    signal(pids, 'SIGCONT');
    const back = await timed(async () => {
      await fixture.committer.ready();
      await until('a commit', () => fixture.commit(lease, [finish(execution)])); // the server is as busy as the machine
    });
    t.is(back.error, undefined);
    t.true(back.ms < scaled(BACK_MS_MAX), `${back.ms} ms`);
    t.deepEqual(await fixture.statuses(execution), ['completed']);
  },
);

test('a crowd that waits when the database goes away is told at once, not one batch after the other', async (t) => {
  const fixture = await openFixture(t, undefined, SHORT_WAITS);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  await fixture.holder('lock table node in access exclusive mode');
  const began = performance.now();

  const outcomes = await Promise.allSettled(
    Array.from({ length: 9 }, () =>
      fixture.commit(
        lease,
        Array.from({ length: 1_000 }, () => well(node)),
      ),
    ),
  );

  t.deepEqual(new Set(outcomes.map((outcome) => outcome.status)), new Set(['rejected']));
  t.true(performance.now() - began < scaled(HANG_MS_MAX));
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
  const [low, high] = [await fixture.node(lease), await fixture.node(lease)].toSorted();
  if (low === undefined || high === undefined) throw new Error('no nodes');
  const execution = await fixture.execution(low);
  const wants = 'select 1 from command_execution where id = $1 for update';
  const rival = await fixture.holder('select 1 from node where id = $1 for update', [high]);
  await rival.query("set deadlock_timeout = '60 s'"); // the batch is the one that notices
  const first = await fixture.holder(wants, [execution]);
  try {
    let isOver = false;
    const storing = fixture
      .commit(lease, [finish(execution), well(high)])
      .catch(() => null)
      .finally(() => {
        isOver = true;
      });
    const inLine = (count: number): Promise<unknown> =>
      until(`${count} in line`, async () => isOver || (await fixture.inLine()).length === count);
    await inLine(1);
    const wanting = rival.query(wants, [execution]);
    await inLine(2);
    const isLate = isOver;
    await first.query('commit');
    await wanting;
    await rival.query('commit');
    const results = await storing;
    return isLate || results === null ? null : { results, log: fixture.log.lines.slice(logged) };
  } finally {
    await Promise.all([first.end(), rival.end()]);
  }
}

/** How this is refused before the event loop has turned so often: nothing is waited for. Null: it was not. */
async function atOnce(work: () => Promise<unknown>): Promise<unknown> {
  const outcomes: unknown[] = [];
  work().then(
    () => outcomes.push('done'),
    (error: unknown) => outcomes.push(error),
  );
  for (let turn = 0; turn < TURNS_MAX && outcomes.length === 0; turn += 1) await setImmediate();
  return outcomes[0] ?? null;
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
