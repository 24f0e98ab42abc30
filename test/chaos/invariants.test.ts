/** The judge of the chaos tests sees every breach that it is there for. */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { breaches, type Evidence, type Row } from './invariants.ts';
import type { Attempt } from './books.ts';

const NODES = ['node-a', 'node-b'];
const COMMAND = randomUUID();

const attempt: Attempt = {
  mark: 'mark-0-quick',
  answer: 'stored',
  id: COMMAND,
  endings: ['completed 0', 'cancelled 137'],
  answeredMs: 0,
  overAtS: null,
  isTakenBack: false,
  outputOf: (execution) => `mark-0-quick ${execution}\n`,
  request: {},
};

function row(node: string, more: Partial<Row> = {}): Row {
  const id = `execution-on-${node}`;
  return {
    id,
    command_id: COMMAND,
    command_text: 'echo mark-0-quick $EDGE_EXECUTION_ID; ',
    node_id: node,
    status: 'completed',
    exit_code: 0,
    output: `mark-0-quick ${id}\n`,
    sent: true,
    completed: true,
    cancelled: false,
    ...more,
  };
}

const first = row('node-a');

const rest = [row('node-b')];
const fromLedger = row('node-a', {
  output: '[This execution ended on this machine before and was not run again. Its output is not kept any more.]\n',
});
const confirmedBefore = {
  execution: first.id as never,
  outcome: 'completed' as const,
  exit_code: 0,
  output: '',
  parts: 0,
  output_truncated: false,
};

/** A round in which all went well, but for what is given. */
function evidence(more: Partial<Evidence> = {}): Evidence {
  const rows = more.rows ?? NODES.map((node) => row(node));
  const all = ['created', 'sent', 'completed'].map((name) => `edge.command_execution.${name}`);
  return {
    attempts: [attempt],
    nodes: NODES,
    rows,
    contradictions: [],
    living: new Set(),
    takenBack: new Map(),
    delivered: new Map(),
    startedS: new Map(rows.map(({ id }) => [id, 100])),
    commands: [...new Set(rows.map(({ command_id: id }) => id))].map((id) => ({
      id,
      command_text: first.command_text,
    })),
    runs: rows.map(({ id }) => id),
    events: new Map(rows.map(({ id }) => [id, all])),
    confirmed: new Map(
      rows.map((one) => [
        one.id,
        {
          execution: one.id as never,
          outcome: 'completed' as const,
          exit_code: 0,
          output: one.output ?? '',
          parts: 0,
          output_truncated: false,
        },
      ]),
    ),
    ...more,
  };
}

test('a round in which all went well has no breach', (t) => {
  t.deepEqual(breaches(evidence()), []);
});

test('what a restore took back need not be there, and what an agent answers from its ledger is its result', (t) => {
  const takenBack = { ...attempt, isTakenBack: true };
  t.deepEqual(
    breaches(
      evidence({
        attempts: [takenBack],
        rows: [],
        runs: [first.id],
        delivered: new Map([[first.id, first.command_text]]),
      }),
    ),
    [],
  );
  t.deepEqual(
    breaches(
      evidence({
        rows: [fromLedger, ...rest],
        takenBack: new Map([[first.id, confirmedBefore]]),
        confirmed: new Map(),
      }),
    ),
    [],
  );
});

test('a create that nobody answered may have left nothing', (t) => {
  t.deepEqual(breaches(evidence({ attempts: [{ ...attempt, answer: 'none', id: null }], rows: [] })), []);
});

test('a result that came when its execution was cancelled already is confirmed, and is not what is stored', (t) => {
  const cancelled = row('node-a', { status: 'cancelled', exit_code: 143, output: null, sent: false, completed: false });
  const all = evidence();

  t.deepEqual(
    breaches({
      ...all,
      attempts: [{ ...attempt, endings: ['completed 0', 'cancelled 143'] }],
      rows: [{ ...cancelled, cancelled: true }, ...rest],
      events: new Map([
        ...all.events,
        [cancelled.id, ['created', 'cancelled'].map((name) => `edge.command_execution.${name}`)],
      ]),
    }),
    [],
  );
});

test('a command that names nodes has an execution on each of them, and may have one on a node that is deleted', (t) => {
  const named = {
    ...attempt,
    targets: { must: ['node-a'], may: ['node-b'] },
    endings: ['completed 0', 'dropped null'],
  };
  const dropped = row('node-b', { status: 'dropped', exit_code: null, output: null, sent: false, completed: false });
  const all = evidence();

  t.deepEqual(breaches(evidence({ attempts: [named], rows: [first] })), []);
  t.deepEqual(
    breaches(
      evidence({
        attempts: [named],
        rows: [first, dropped],
        runs: [first.id],
        confirmed: new Map(),
        events: new Map([...all.events, [dropped.id, ['edge.command_execution.created']]]),
      }),
    ),
    [],
  );
  t.regex(
    breaches(evidence({ attempts: [named], rows: [...rest] })).join(),
    /C1: mark-0-quick \(stored\) has 1 executions of 1 commands for 1 nodes/u,
  );
});

const without = (id: string) => evidence().runs.filter((run) => run !== id);
for (const [what, broken, pattern] of [
  ['a stored command that is gone', { rows: [] }, /^C1: mark-0-quick \(stored\) has 0 executions/u],
  [
    'a command that is stored without its executions, whoever was told',
    {
      rows: [],
      commands: [{ id: COMMAND, command_text: first.command_text }],
      attempts: [{ ...attempt, answer: 'none', id: null }],
    },
    /^C1: .* has 0 executions of 1 commands/u,
  ],
  [
    'a command that is stored for one node of two',
    { rows: rest, attempts: [{ ...attempt, answer: 'none', id: null }] },
    /^C1: .* has 1 executions/u,
  ],
  [
    'a command that is stored twice',
    {
      rows: [first, ...rest, row('node-a', { id: 'again', command_id: randomUUID(), output: 'mark-0-quick again\n' })],
    },
    /^C1: .* has 3 executions of 2 commands/u,
  ],
  [
    'a command under another id than was answered',
    { attempts: [{ ...attempt, id: randomUUID() }] },
    /^C1: .* under another id/u,
  ],
  ['a run of nothing that is stored', { runs: [...without(''), 'stranger'] }, /^C1: stranger ran/u],
  ['a script that ran twice', { runs: [...without(''), first.id] }, /^C3: it ran more than once/u],
  ['a completed execution that never ran', { runs: without(first.id) }, /^C3: it is completed and did not run once/u],
  [
    'an execution that is not over',
    { rows: [row('node-a', { status: 'sent', completed: false }), ...rest] },
    /^C6: it is not over/u,
  ],
  [
    'a cancel that nobody asked for',
    { rows: [row('node-a', { status: 'cancelled', exit_code: 143, completed: false, cancelled: true }), ...rest] },
    /^C7: it should have ended as completed 0 or cancelled 137/u,
  ],
  ['a completion without its moment', { rows: [row('node-a', { completed: false }), ...rest] }, /^C7: its moments/u],
  [
    'a failure of a script that cannot fail',
    { rows: [row('node-a', { exit_code: 1 }), ...rest] },
    /^C7: it should have ended as/u,
  ],
  [
    'an output that lost something',
    { rows: [row('node-a', { output: 'mark-0-quick' }), ...rest] },
    /^C10: its output/u,
  ],
  [
    'a row that is not what was confirmed',
    {
      confirmed: new Map([
        [
          first.id,
          {
            execution: first.id as never,
            outcome: 'cancelled' as const,
            exit_code: 137,
            output: '',
            parts: 0,
            output_truncated: false,
          },
        ],
      ]),
    },
    /^C5: its row is not the result/u,
  ],
  ["an output that is a ledger's, and no database was set back", { rows: [fromLedger, ...rest] }, /^C10: its output/u],
  [
    'a result that a restore took back and that came back as another',
    { takenBack: new Map([[first.id, { ...confirmedBefore, exit_code: 7 }]]) },
    /^C3: it had been confirmed as completed 7/u,
  ],
  [
    'a second run of what a restore took back',
    {
      attempts: [{ ...attempt, isTakenBack: true }],
      rows: [],
      runs: [first.id, first.id],
      delivered: new Map([[first.id, first.command_text]]),
    },
    /^C3: execution-on-node-a ran 2 times/u,
  ],
  ['a start after its end', { attempts: [{ ...attempt, overAtS: 90 }] }, /^C8: it started 10\.0 s after it was over/u],
  [
    'an expiry that nobody asked for',
    { rows: [row('node-a', { status: 'expired', exit_code: null, completed: false }), ...rest] },
    /^C7: it should have ended as/u,
  ],
  ['a process that survives its execution', { living: new Set([first.id]) }, /^C9: its processes live/u],
  ['two confirmed results', { contradictions: ['x was confirmed with two results'] }, /^C5: x was confirmed/u],
  ['an event that is missing', { events: new Map() }, /^V1: its events are/u],
] as const) {
  test(`${what} is a breach`, (t) => {
    const found = breaches(evidence(broken));

    t.true(
      found.some((breach) => pattern.test(breach)),
      found.join('\n'),
    );
  });
}
