import test from 'ava';
import { v7 } from 'uuid';
import { EXECUTION_STATUSES, isTerminal, type ExecutionStatus } from '../../../actors/resources/command.ts';
import { openedDatabase, type Opened } from '../../support/database/opened.ts';

type Columns = Readonly<Record<string, string | number | null>>;

const AT = '2026-01-01T00:00:00.000Z';

/** Columns that go with each state. */
const SHAPES: Readonly<Record<ExecutionStatus, Columns>> = {
  pending: {},
  sent: { sent_at: AT },
  completed: { sent_at: AT, completed_at: AT, exit_code: 0, finished_at: AT },
  cancelled: { cancelled_at: AT, exit_code: 143, finished_at: AT },
  expired: { finished_at: AT },
  dropped: { finished_at: AT },
};

const EMPTY: Columns = { exit_code: null, sent_at: null, completed_at: null, cancelled_at: null, finished_at: null };

async function insert({ pool }: Opened, status: string, columns: Columns): Promise<string> {
  const id = v7();
  const given: Columns = {
    id,
    command_id: v7(),
    node_id: v7(),
    cluster_name: 'a',
    target_all: 'true',
    status,
    inserted_at: AT,
    updated_at: AT,
    ...columns,
  };
  await pool.query(
    `insert into command_execution (${Object.keys(given).join(', ')}) values (${Object.keys(given)
      .map((_, index) => `$${index + 1}`)
      .join(', ')})`,
    Object.values(given),
  );
  return id;
}

async function move({ pool }: Opened, id: string, status: ExecutionStatus): Promise<void> {
  const given = { ...EMPTY, ...SHAPES[status] };
  await pool.query(
    `update command_execution set status = $2, ${Object.keys(given)
      .map((name, index) => `${name} = $${index + 3}`)
      .join(', ')} where id = $1`,
    [id, status, ...Object.values(given)],
  );
}

test('of all 36 edges between states only those of C6 can be stored', async (t) => {
  const opened = await openedDatabase(t);
  const allowed = (from: ExecutionStatus, to: ExecutionStatus) =>
    from === to || (!isTerminal(from) && to !== 'pending');

  for (const from of EXECUTION_STATUSES) {
    for (const to of EXECUTION_STATUSES) {
      const id = await insert(opened, from, SHAPES[from]);
      const moved = await move(opened, id, to).then(
        () => true,
        (error: { constraint?: string }) => error.constraint !== 'command_execution_edge',
      );
      t.is(moved, allowed(from, to), `${from} → ${to}`);
    }
  }
});

test('an execution whose fields do not go with its state cannot be stored', async (t) => {
  const opened = await openedDatabase(t);
  const wrong: readonly (readonly [string, Columns])[] = [
    ['pending', { sent_at: AT }],
    ['pending', { exit_code: 0 }],
    ['pending', { finished_at: AT }],
    ['pending', { completed_at: AT }],
    ['pending', { cancelled_at: AT }],
    ['sent', {}],
    ['sent', { sent_at: AT, exit_code: 0 }],
    ['sent', { sent_at: AT, finished_at: AT }],
    ['completed', { ...SHAPES.completed, exit_code: null }],
    ['completed', { ...SHAPES.completed, sent_at: null }],
    ['completed', { ...SHAPES.completed, completed_at: null }],
    ['completed', { ...SHAPES.completed, cancelled_at: AT }],
    ['completed', { ...SHAPES.completed, finished_at: null }],
    ['cancelled', { ...SHAPES.cancelled, exit_code: null }],
    ['cancelled', { ...SHAPES.cancelled, cancelled_at: null }],
    ['cancelled', { ...SHAPES.cancelled, completed_at: AT }],
    ['cancelled', { ...SHAPES.cancelled, finished_at: null }],
    ['expired', {}],
    ['expired', { ...SHAPES.expired, exit_code: 0 }],
    ['expired', { ...SHAPES.expired, completed_at: AT }],
    ['dropped', {}],
    ['dropped', { ...SHAPES.dropped, cancelled_at: AT }],
    ['lost', {}],
  ];

  for (const [status, columns] of wrong) {
    const error = await t.throwsAsync<Error & { constraint?: string }>(
      insert(opened, status, columns),
      undefined,
      `${status} ${JSON.stringify(columns)}`,
    );
    t.is(error?.constraint, 'command_execution_shape');
  }
  for (const status of EXECUTION_STATUSES) await insert(opened, status, SHAPES[status]);
  await insert(opened, 'expired', { ...SHAPES.expired, sent_at: AT });
  await insert(opened, 'cancelled', { ...SHAPES.cancelled, sent_at: AT });
});

test('a command has one execution a node', async (t) => {
  const opened = await openedDatabase(t);
  const ids = { command_id: v7(), node_id: v7() };
  await insert(opened, 'pending', ids);

  const error = await t.throwsAsync<Error & { constraint?: string }>(insert(opened, 'pending', ids));

  t.is(error?.constraint, 'command_execution_once');
});
