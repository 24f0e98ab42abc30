/** How executions of a node end: by a result, with their output, or because they expired (C4, C6, C7). */
import test from 'ava';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import {
  execution,
  liveNode,
  nodeRecord,
  nodeState,
  NOW_MS,
  open,
  result,
  session,
  told,
} from '../../../support/actors.ts';
import { snapshot, sends, noticed, finished } from './executions-fixture.ts';
import { arrived, lookedUp, say } from './fixture.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../../../../transport/protocol/limits.ts';
import { kindsOf } from '../../../support/steps.ts';

test('a result is stored with its output, and confirmed once it is', (t) => {
  const step = say(liveNode([open(1, 'sent')]), arrived(result(1, { exit_code: 3, output: 'no\n' })));

  const data = {
    ...snapshot,
    status: 'completed',
    exit_code: 3,
    sent_at: '2026-01-15T10:00:01.000Z',
    completed_at: '2026-01-15T10:01:00.000Z',
  };
  t.deepEqual(step.changes, [
    {
      write: finished(1, 'completed', { exitCode: 3, output: 'no\n' }),
      events: [{ type: 'edge.command_execution.completed', subject: execution(1), atMs: NOW_MS, data }],
      notices: noticed('completed', 3),
    },
  ]);
  t.deepEqual(step.effects, [sends('confirm', [execution(1)])]);
  t.deepEqual([step.state.open.size, step.state.session?.delivered.size], [0, 0]);
});

test('a result that finds its execution pending emits sent and completed (C6)', (t) => {
  const step = say(liveNode([open(1)]), arrived(result(1)));

  t.deepEqual(
    step.changes.map((change) => [
      change.write.kind,
      change.events.map((event) => [event.type, ...told(event, 'sent_at', 'completed_at')]),
    ]),
    [
      [
        'execution-finished',
        [
          ['edge.command_execution.sent', '2026-01-15T10:01:00.000Z', null],
          ['edge.command_execution.completed', '2026-01-15T10:01:00.000Z', '2026-01-15T10:01:00.000Z'],
        ],
      ],
    ],
  );
});

test('an execution that the agent cancelled says so, with the code of its signal', (t) => {
  const step = say(
    liveNode([open(1, 'sent')]),
    arrived(result(1, { outcome: 'cancelled', exit_code: 143, parts: 2, output: '', output_truncated: true })),
  );

  t.deepEqual(step.changes[0]?.write, finished(1, 'cancelled', { exitCode: 143, parts: 2, truncated: true }));
  t.deepEqual(step.changes[0]?.events[0]?.data, {
    ...snapshot,
    status: 'cancelled',
    exit_code: 143,
    sent_at: '2026-01-15T10:00:01.000Z',
    cancelled_at: '2026-01-15T10:01:00.000Z',
  });
});

test('a result that is twice in one frame is stored and confirmed once', (t) => {
  const step = say(liveNode([open(1, 'sent')]), arrived(result(1), result(1, { exit_code: 9 })));

  t.is(step.changes.length, 1);
  t.deepEqual(step.effects, [sends('confirm', [execution(1)])]);
});

test('a result of an execution that is over is confirmed as such and stores nothing (C8)', (t) => {
  const asked = say(liveNode(), arrived(result(1)));
  const retry = arrived(result(1));
  t.deepEqual(asked, {
    state: asked.state,
    changes: [],
    effects: [{ type: 'look-up', executions: [execution(1)], retry }],
  });

  const told = say(asked.state, lookedUp([execution(1)], [], retry));

  t.deepEqual([told.changes, told.effects], [[], [sends('confirm', [execution(1)])]]);
});

test('a result of an execution that only the rows knew is stored after the look-up', (t) => {
  const retry = arrived(result(1));

  const step = say(liveNode([], { reads: 1 }), lookedUp([execution(1)], [open(1, 'sent')], retry));

  t.deepEqual(kindsOf(step), ['execution-finished']);
  t.deepEqual(step.effects, [sends('confirm', [execution(1)])]);
  t.is(step.state.open.size, 0);
});

test('known and unknown results in one frame each go their way', (t) => {
  const step = say(liveNode([open(1, 'sent')]), arrived(result(1), result(2)));

  t.deepEqual(step.effects, [
    sends('confirm', [execution(1)]),
    {
      type: 'look-up',
      executions: [execution(2)],
      retry: arrived(result(2)),
    },
  ]);
});

test('an output part is stored, then the agent may send the next; one of an execution that is over is settled', (t) => {
  const part: NodeMessage = {
    type: 'output-part-arrived',
    session: session(1),
    execution: execution(1),
    part: 4,
    text: 'abc',
  };

  const stored = say(liveNode([open(1, 'sent')]), part);
  const over = say(liveNode([], { reads: 1 }), lookedUp([execution(1)], [], part));

  t.deepEqual(stored.changes, [
    { write: { kind: 'output-part', execution: execution(1), part: 4, text: 'abc' }, events: [], notices: [] },
  ]);
  t.deepEqual(stored.effects, [
    { type: 'send', session: session(1), frame: { type: 'part-stored', execution: execution(1), part: 4 } },
  ]);
  t.deepEqual([over.changes, over.effects], [[], [sends('settle', [execution(1)])]]);
});

test('executions that expired are forgotten, and ended at the agent, also when they were sent (C7)', (t) => {
  const step = say(liveNode([open(1, 'sent'), open(2)]), {
    type: 'executions-expired',
    executions: [execution(1), execution(2)],
  });

  t.deepEqual(
    [step.changes, step.effects, step.state.open.size],
    [[], [sends('settle', [execution(1), execution(2)])], 0],
  );
});

test('of more ends than a frame takes each is told, in frames that the agent takes', (t) => {
  const ended = Array.from({ length: EXECUTIONS_PER_FRAME_MAX + 1 }, (_, index) => execution(index + 1));

  const { effects } = say(liveNode(), { type: 'executions-expired', executions: ended });

  t.deepEqual(effects, [
    sends('settle', ended.slice(0, EXECUTIONS_PER_FRAME_MAX)),
    sends('settle', ended.slice(EXECUTIONS_PER_FRAME_MAX)),
  ]);
});

test('a write that found its execution over makes the agent end it', (t) => {
  const write = { kind: 'execution-sent', execution: execution(1), atMs: NOW_MS } as const;
  const refusal = { code: 'conflict', message: 'The execution has already finished.' } as const;

  t.deepEqual(say(liveNode(), { type: 'refused', write, refusal }).effects, [sends('settle', [execution(1)])]);
  t.deepEqual(say(liveNode([open(1, 'sent')]), { type: 'refused', write, refusal }).effects, []);
  t.deepEqual(say(nodeState({ record: nodeRecord() }), { type: 'refused', write, refusal }).effects, []);
});
