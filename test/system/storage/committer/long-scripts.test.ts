/** Steps that send much at once: the event of each execution holds its script. */
import test from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import type { DomainEvent } from '../../../../actors/event-catalogue.ts';
import { ASK_MS_MAX } from '../../../../actors/limits.ts';
import { executionSnapshot } from '../../../../actors/node/snapshots.ts';
import { STALE_EPOCH } from '../../../../actors/refusal.ts';
import type { Change } from '../../../../actors/step.ts';
import type { Write } from '../../../../actors/writes.ts';
import { FAN_OUT_SCRIPT_BYTES_MAX } from '../../../../api/operations/commands.ts';
import { STATEMENT_CHARS_MAX } from '../../../../persistence/committer/event-rows.ts';
import { BATCH_BYTES_MAX } from '../../../../persistence/committer/units.ts';
import type { CommandId, ExecutionId, NodeId } from '../../../../transport/protocol/ids.ts';
import { COMMAND_TEXT_BYTES_MAX } from '../../../../transport/protocol/limits.ts';
import { commandRecord, NOW_MS, openCommand } from '../../../support/actors.ts';
import { isCrowded, scaled } from '../../../support/busy.ts';
import { finish, openFixture } from '../../../support/database/committer-fixture.ts';
import { LONG_WAITS } from '../../../support/database/opened.ts';
import { until } from '../../../support/until.ts';

const SCRIPT = 'x'.repeat(COMMAND_TEXT_BYTES_MAX);
const ANY_LOCK = 4_713;

/** So many executions with long scripts are more than a batch takes. */
const MANY = BATCH_BYTES_MAX / SCRIPT.length;

/** Of an execution with a long script. */
function eventOf(type: 'created' | 'sent' | 'completed', execution: ExecutionId): DomainEvent {
  const data = executionSnapshot(
    {
      id: execution,
      command: openCommand({ text: SCRIPT }),
      node: v7() as NodeId,
      clusterName: 'c',
      insertedAtMs: NOW_MS,
    },
    {
      status: 'pending',
      exitCode: null,
      sentAtMs: null,
      completedAtMs: null,
      cancelledAtMs: null,
      updatedAtMs: NOW_MS,
    },
  );
  return { type: `edge.command_execution.${type}`, subject: execution, atMs: NOW_MS, data };
}

/** A command with a long script and so many executions. */
function created(count: number): Change & { readonly write: Extract<Write, { kind: 'command-created' }> } {
  const command = commandRecord({ id: v7() as CommandId, text: SCRIPT });
  const executions = Array.from({ length: count }, () => ({
    id: v7() as ExecutionId,
    node: v7() as NodeId,
    clusterName: 'c',
  }));
  return {
    write: { kind: 'command-created', command, executions },
    events: executions.map(({ id }) => eventOf('created', id)),
    notices: [],
  };
}

test('a step with more long scripts than a batch takes is stored bit by bit, each end with its events', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const ids = await Promise.all(Array.from({ length: MANY }, () => fixture.execution(node)));
  const before = fixture.committer.counters.batches;

  const outcome = await fixture.commit(
    lease,
    ids.map((id) => ({ write: finish(id), events: [eventOf('sent', id), eventOf('completed', id)], notices: [] })),
  );

  t.deepEqual(new Set(outcome), new Set(['ok']));
  t.is(fixture.committer.counters.batches - before, 3);
  for (const id of ids.slice(0, 3))
    t.deepEqual(await fixture.eventsOf(id), ['edge.command_execution.sent', 'edge.command_execution.completed']);
  const [stored] = await fixture.rows<{ count: number }>(
    `select count(*)::int as count from event where length(data ->> 'command_text') = ${SCRIPT.length}`,
  );
  t.is(stored?.count, 2 * MANY);
});

test('a step stored in parts is refused as stale from where its lease was lost, whatever else is refused of it (O1)', async (t) => {
  const fixture = await openFixture(t);
  const lease = await fixture.cluster();
  const node = await fixture.node(lease);
  const ids = await Promise.all(Array.from({ length: MANY }, () => fixture.execution(node)));
  await fixture.rows("update command_execution set status = 'expired', finished_at = now() where id = $1", [ids[0]]);
  await fixture.rows(
    `create function lose() returns trigger language plpgsql as $$ begin
      update cluster_ownership set epoch = 2; return null; end $$`,
  );
  await fixture.rows(
    'create trigger loses after update on command_execution for each statement execute function lose()',
  );
  const before = fixture.committer.counters.batches;

  const outcome = await fixture.commit(
    lease,
    ids.map((id) => ({ write: finish(id), events: [eventOf('sent', id), eventOf('completed', id)], notices: [] })),
  );

  const stored = outcome.filter((one) => one === 'ok').length;
  t.true(stored > 0 && stored < MANY / 2);
  t.deepEqual(outcome, [
    'conflict',
    ...ids.slice(1, 1 + stored).map(() => 'ok'),
    ...ids.slice(1 + stored).map(() => STALE_EPOCH.code),
  ]);
  t.is(fixture.committer.counters.batches - before, 2, 'the part after the one that is stale is not tried');
  const completed = await fixture.rows("select from command_execution where status = 'completed'");
  t.is(completed.length, stored);
});

test('a create that is larger than a batch holds up no other write, and those as large go one after another', async (t) => {
  const fixture = await openFixture(t, undefined, LONG_WAITS);
  const lease = await fixture.cluster();
  const execution = await fixture.execution(await fixture.node(lease));
  await fixture.rows(
    `create function wait() returns trigger language plpgsql as $$ begin
      while not pg_try_advisory_xact_lock_shared(${ANY_LOCK}) loop perform pg_sleep(0.01); end loop; return new; end $$`,
  );
  await fixture.rows('create trigger waits before insert on command for each row execute function wait()');
  const holder = new Client(fixture.connection);
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query(`select pg_advisory_lock(${ANY_LOCK})`);
  const storing = async () => {
    const { rowCount } = await holder.query(
      `select from pg_stat_activity where datname = current_database() and state = 'active' and query like 'insert into command %'`,
    );
    return rowCount;
  };

  const creates = [created(MANY), created(MANY)];
  const stored = creates.map((create) => fixture.commit(null, [create]).catch(String));
  await until('one is being stored', async () => (await storing()) === 1);
  const other = fixture.commit(lease, [finish(execution)]);
  await until('the other write is stored', async () => (await fixture.row(execution))['status'] === 'completed');
  t.is(await storing(), 1);
  await holder.query(`select pg_advisory_unlock(${ANY_LOCK})`);

  t.deepEqual(await other, ['ok']);
  const outcomes = await Promise.all(stored);
  t.deepEqual(outcomes[0], ['ok']);
  if (!isCrowded()) t.deepEqual(outcomes[1], ['ok']); // it may not wait for long
  const [counted] = await fixture.rows<{ count: number }>(
    `select count(*)::int as count from event where length(data ->> 'command_text') = ${SCRIPT.length}`,
  );
  t.is(counted?.count, MANY * outcomes.filter((outcome) => typeof outcome !== 'string').length);
});

test('a create that waits for one as large is begun while its caller waits, and no statement of it after that', async (t) => {
  const fixture = await openFixture(t);
  await fixture.rows('create sequence begun_ms');
  await fixture.rows(
    `create function take() returns trigger language plpgsql as $$ begin
      perform setval('begun_ms', (extract(epoch from clock_timestamp()) * 1000)::bigint); perform pg_sleep(0.9); return null; end $$`,
  );
  await fixture.rows('create trigger takes before insert on event for each statement execute function take()');
  const ofStatement = Math.floor(STATEMENT_CHARS_MAX / (SCRIPT.length + 1_000));
  const counts = [MANY, 5 * ofStatement, MANY]; // the first of three statements
  const beganMs = Date.now();

  const store = (count: number) => fixture.commit(null, [created(count)]).catch(String);
  const [one, ...others] = counts.map(store);
  const first = await one;
  const firstMs = Date.now() - beganMs;
  const outcomes = await Promise.all(others);

  const isLate = isCrowded() && String(first) !== 'ok';
  if (!isLate) t.deepEqual(first, ['ok']);
  const refused = isCrowded() ? /takes too long|not available/u : /takes too long/u; // connections may have no answer
  for (const outcome of outcomes) t.regex(String(outcome), refused);
  const [last] = await fixture.rows<{ ms: number }>('select last_value::float8 as ms from begun_ms');
  const lastMs = (last?.ms ?? 0) - beganMs;
  if (firstMs < ASK_MS_MAX - 500) t.true(lastMs > firstMs, `the second one is not begun: ${lastMs} ms`);
  t.true(lastMs < ASK_MS_MAX + 1_000, `${lastMs} ms`); // it was sent by then, and begins a little later
  const [stored] = await fixture.rows<{ count: number }>('select count(*)::int as count from event');
  t.is(stored?.count, isLate ? 0 : counts[0]);
});

test('the largest create that is taken is stored in the time that a caller waits', async (t) => {
  const fixture = await openFixture(t);
  const count = Math.floor(FAN_OUT_SCRIPT_BYTES_MAX / JSON.stringify(SCRIPT).length);
  const beganMs = performance.now();

  const outcome = await fixture.commit(null, [created(count)]).catch(String);

  const isLate = isCrowded() && outcome.includes('takes too long'); // nobody waits for it any longer
  if (!isLate) t.deepEqual(outcome, ['ok']);
  t.true(performance.now() - beganMs < scaled(ASK_MS_MAX));
  const [stored] = await fixture.rows<{ count: number }>('select count(*)::int as count from event');
  t.is(stored?.count, isLate ? 0 : count);
});
