/**
 * Commands across real processes: what runs where, how it ends, and what comes back. Always by the plain sources, where
 * other files may have a bundle of them.
 *
 * Promises: C1, C7, C9, C10.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { scaled } from '../../support/busy.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { processesGone, processesWith } from '../../support/fleet/agent-program.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { PROGRAMS_VARIABLE } from '../../support/run/programs.ts';
import { until } from '../../support/until.ts';

delete process.env[PROGRAMS_VARIABLE];

const fleet = sharedFleet(test, { agents: 3 });

const node = (index: number) => ({ type: 'nodes', node_ids: [fleet().agents[index]?.node ?? ''] });

test('a command runs on every node, and each output, in whole, comes back under its node', async (t) => {
  const command = await fleet().run('echo "on $EDGE_NODE_ID"; echo also here >&2; exit 3');

  const executions = await fleet().settled(command);

  t.is(executions.length, 3);
  for (const { node: id } of fleet().agents) {
    t.like(
      executions.find((one) => one.node_id === id),
      { status: 'completed', exit_code: 3, output: `on ${id}\nalso here\n`, output_truncated: false },
    );
  }
  const { summary } = await fleet().rest.get<typeof command>(`/commands/${command.id}`);
  t.like(summary, { total: 3, completed: 3, failed: 3, succeeded: 0 });
});

test('an execution leaves one event of each state that it went through, in order, and none holds the output', async (t) => {
  const command = await fleet().run('echo seen', { targeting: node(0) });
  const [execution] = await fleet().settled(command);

  const events = await fleet().sql<{ type: string; data: Record<string, unknown> }>(
    'select type, data from event where subject = $1 order by txid, seq',
    [execution?.id],
  );

  t.deepEqual(
    events.map(({ type, data }) => [
      type,
      data['status'],
      data['exit_code'],
      data['sent_at'] === null,
      data['completed_at'] === null,
    ]),
    [
      ['edge.command_execution.created', 'pending', null, true, true],
      ['edge.command_execution.sent', 'sent', null, false, true],
      ['edge.command_execution.completed', 'completed', 0, false, false],
    ],
  );
  t.true(events.every(({ data }) => !('output' in data)));
});

test('a script that passes its timeout ends with 124, with what it said, and so do its children that ignore TERM', async (t) => {
  const command = await fleet().run('trap "" TERM; echo begun; (trap "" TERM; sleep 1000) & sleep 1000', {
    targeting: node(0),
    timeout: scaled(1_000),
  });

  const [execution] = await fleet().settled(command);

  t.like(execution, { status: 'completed', exit_code: 124, output: 'begun\n' });
  await processesGone(execution?.id ?? '');
  t.pass();
});

test('a cancelled execution ends with 143 once all of its processes are gone, also those that ignore TERM', async (t) => {
  const command = await fleet().run('echo begun; (trap "" TERM; sleep 1000) & trap "" TERM; sleep 1000', {
    targeting: node(1),
  });
  const [running] = await fleet().settled(command, ([one]) => one?.status === 'sent');
  await until('the script', () => processesWith(`EDGE_EXECUTION_ID=${running?.id ?? ''}`).length >= 2);

  const cancel = () => fleet().rest.call('POST', `/command_executions/${running?.id ?? ''}/cancel`);
  const answer = await settledAnswer(cancel);

  t.is(answer.status, 202);
  const [cancelled] = await fleet().settled(command);
  t.deepEqual(processesWith(`EDGE_EXECUTION_ID=${running?.id ?? ''}`), []);
  t.like(cancelled, { status: 'cancelled', exit_code: 143, output: 'begun\n', completed_at: null });
  t.is((await settledAnswer(cancel)).status, 409);
});

test('cancelling a command cancels it on every node', async (t) => {
  const command = await fleet().run('sleep 1000');
  await fleet().settled(command, (executions) => executions.every(({ status }) => status === 'sent'));

  const answer = await settledAnswer(() => fleet().rest.call('POST', `/commands/${command.id}/cancel`));

  t.is(answer.status, 202);
  t.deepEqual(
    (await fleet().settled(command)).map(({ status, exit_code }) => [status, exit_code]),
    Array.from({ length: 3 }, () => ['cancelled', 143]),
  );
});

test('an output beyond 1 MiB keeps its exact halves around a marker that says what is missing', async (t) => {
  const line = 'x'.repeat(99);
  const command = await fleet().run(
    `i=0; while [ $i -lt 30000 ]; do printf '%s%05d\\n' ${line.slice(6)} $i; i=$((i+1)); done`,
    { targeting: node(2) },
  );

  const [execution] = await fleet().settled(command);

  const whole = Array.from(
    { length: 30_000 },
    (_, index) => `${line.slice(6)}${String(index).padStart(5, '0')}\n`,
  ).join('');
  const output = execution?.output ?? '';
  const head = commonStart(output, whole);
  const tail = commonEnd(output, whole);
  t.true(execution?.output_truncated);
  t.true(Buffer.byteLength(output) <= 1_048_576, `${Buffer.byteLength(output)} bytes`);
  t.true(head >= 520_000 && tail >= 520_000, `${head} at the start and ${tail} at the end`);
  t.is(output.slice(head, output.length - tail), '\n[... output cut here ...]\n');
});

test('an output of 1 MiB less a byte is whole, byte for byte', async (t) => {
  const command = await fleet().run('head -c 1048575 /dev/zero | tr "\\0" z', { targeting: node(2) });

  const [execution] = await fleet().settled(command);

  t.false(execution?.output_truncated);
  t.is(
    createHash('sha256')
      .update(execution?.output ?? '')
      .digest('hex'),
    createHash('sha256').update('z'.repeat(1_048_575)).digest('hex'),
  );
});

test('a create that is repeated under its key answers the first answer and runs nothing again', async (t) => {
  const ledger = join(fleet().directory, 'idempotent');
  const sent = {
    body: { command_text: `echo ran >>${ledger}`, targeting: node(0) },
    headers: { 'idempotency-key': 'once-and-for-all' },
  };

  const answers = await Promise.all([1, 2, 3].map(() => fleet().rest.call<{ id: string }>('POST', '/commands', sent)));
  const again = await settledAnswer(() => fleet().rest.call<{ id: string }>('POST', '/commands', sent));
  const changed = { ...sent, body: { ...sent.body, command_text: 'true' } };
  const other = await settledAnswer(() => fleet().rest.call('POST', '/commands', changed));

  t.is(new Set([...answers, again].filter(({ status }) => status === 201).map(({ data }) => data.id)).size, 1);
  t.is(again.status, 201);
  t.deepEqual([other.status, other.error?.code], [409, 'idempotency_conflict']);
  await fleet().settled({ id: again.data.id } as never);
  t.is(readFileSync(ledger, 'utf8'), 'ran\n');
});

test('what still runs when it expires is ended, keeps the moment when it was sent, and has no exit code', async (t) => {
  const running = await fleet().run('sleep 1000', {
    targeting: node(2),
    expired_at: muchLater(),
  });
  const [sent] = await fleet().settled(running, ([one]) => one?.status === 'sent');

  await expireIn(fleet(), running);
  const [expired] = await fleet().settled(running);

  t.like(expired, { status: 'expired', exit_code: null, completed_at: null, sent_at: sent?.sent_at });
  await processesGone(expired?.id ?? '');
});

function commonStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
}

function commonEnd(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a.at(-1 - length) === b.at(-1 - length)) length += 1;
  return length;
}
