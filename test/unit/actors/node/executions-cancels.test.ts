/** What a cancel does to executions that are pending, sent, or over (C5). */
import test from 'ava';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { answer, REPLY_TO, execution, liveNode, NODE, nodeState, NOW_MS, open } from '../../../support/actors.ts';
import { snapshot, sends, noticed, finished } from './executions-fixture.ts';
import { lookedUp, say } from './fixture.ts';
import { ofType, refusal, tell, kindsOf } from '../../../support/steps.ts';

test('a pending execution is cancelled at once, with 143, and whatever of it reached the agent is ended', (t) => {
  const step = say(liveNode([open(1)]), { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO });

  t.deepEqual(step.changes, [
    {
      write: finished(1, 'cancelled', { exitCode: 143, output: null }, null),
      events: [
        {
          type: 'edge.command_execution.cancelled',
          subject: execution(1),
          atMs: NOW_MS,
          data: {
            ...snapshot,
            status: 'cancelled',
            exit_code: 143,
            sent_at: null,
            cancelled_at: '2026-01-15T10:01:00.000Z',
          },
        },
      ],
      notices: noticed('cancelled', 143),
    },
  ]);
  t.deepEqual(step.effects, [answer(), sends('settle', [execution(1)])]);
  t.is(step.state.open.size, 0);
});

test('a sent execution is cancelled by its agent: the intent is stored once, and told at every request', (t) => {
  const first = say(liveNode([open(1, 'sent')]), { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO });
  const second = say(first.state, { type: 'cancel', executions: [execution(1)], replyTo: null });

  t.deepEqual(first.changes, [
    { write: { kind: 'execution-cancel-requested', execution: execution(1), atMs: NOW_MS }, events: [], notices: [] },
  ]);
  t.deepEqual(first.effects, [answer(), sends('cancel', [execution(1)])]);
  t.deepEqual([second.changes, second.effects], [[], [sends('cancel', [execution(1)])]]);
});

test('without a session the intent to cancel is stored for later', (t) => {
  const step = say(nodeState({ open: new Map([[execution(1), open(1, 'sent')]]) }), {
    type: 'cancel',
    executions: [execution(1)],
    replyTo: REPLY_TO,
  });

  t.deepEqual(kindsOf(step), ['execution-cancel-requested']);
  t.deepEqual(step.effects, [answer()]);
});

test('a cancel of an execution that is over is a conflict', (t) => {
  const cancel: NodeMessage = { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO };
  const asked = say(liveNode(), cancel);
  t.deepEqual(asked.effects, [{ type: 'look-up', executions: [execution(1)], retry: cancel }]);

  const told = say(asked.state, lookedUp([execution(1)], [], cancel));

  t.deepEqual(ofType(told.effects, 'answer'), [refusal('conflict', 'The execution has already finished.')]);
});

test('a cancel that waited for a look-up returns as a message of its own, so that a refused write is its answer', (t) => {
  const cancel: NodeMessage = { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO };

  const step = say(liveNode([], { reads: 1 }), lookedUp([execution(1)], [open(1)], cancel));

  t.deepEqual([step.changes, step.effects], [[], [tell('node', NODE, cancel)]]);
});
