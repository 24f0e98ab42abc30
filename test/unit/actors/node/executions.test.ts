/** What becomes of a node's executions: acknowledged, finished, cancelled, expired, found again (C4, C5). */
import test from 'ava';
import { UNACKNOWLEDGED_MAX } from '../../../../actors/node/delivery.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { OPEN_EXECUTIONS_MAX } from '../../../../actors/node/state.ts';
import type { NodeState } from '../../../../actors/node/state.ts';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import {
  REPLY_TO,
  commandRecord,
  execution,
  liveNode,
  MADE_MS,
  NODE,
  nodeRecord,
  nodeState,
  NOW_MS,
  open,
  result,
  session,
  SETTINGS,
  told,
} from '../../../support/actors.ts';

const behaviour = nodeBehaviour(SETTINGS);

const snapshot = {
  command_execution_id: execution(1),
  command_id: commandRecord().id,
  node_id: NODE,
  cluster_name: 'factory',
  command_text: 'true',
  timeout: null,
  status: 'sent',
  exit_code: null,
  target_all: false,
  expired_at: null,
  sent_at: '2026-01-15T10:01:00.000Z',
  completed_at: null,
  cancelled_at: null,
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:01:00.000Z',
};

function say(state: NodeState, message: NodeMessage, nowMs = NOW_MS) {
  return behaviour.transition(state, message, nowMs);
}

function sends(type: string, executions: readonly unknown[], to = 1) {
  return { type: 'send', session: session(to), frame: { type, executions } };
}

function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

test('an acknowledged execution is sent, with its event', (t) => {
  const step = say(liveNode([open(1)]), {
    type: 'executions-acknowledged',
    session: session(1),
    executions: [execution(1)],
  });

  t.deepEqual(step.changes, [
    {
      write: { kind: 'execution-sent', execution: execution(1), atMs: NOW_MS },
      events: [{ type: 'edge.command_execution.sent', subject: execution(1), atMs: NOW_MS, data: snapshot }],
      notices: [
        {
          type: 'execution-changed',
          execution: execution(1),
          command: commandRecord().id,
          node: NODE,
          clusterName: 'factory',
          status: 'sent',
          exitCode: null,
        },
        { type: 'events-stored' },
      ],
    },
  ]);
  t.deepEqual(step.effects, []);
  t.deepEqual(step.state.open.get(execution(1)), open(1, 'sent', { sentAtMs: NOW_MS, updatedAtMs: NOW_MS }));
});

test('an acknowledgement that comes twice stores nothing the second time', (t) => {
  const state = liveNode([open(1, 'sent')]);

  t.deepEqual(
    say(state, { type: 'executions-acknowledged', session: session(1), executions: [execution(1)] }).changes,
    [],
  );
});

test('a result is stored with its output, and confirmed once it is', (t) => {
  const step = say(liveNode([open(1, 'sent')]), {
    type: 'results-arrived',
    session: session(1),
    results: [result(1, { exit_code: 3, output: 'no\n' })],
  });

  const data = {
    ...snapshot,
    status: 'completed',
    exit_code: 3,
    sent_at: '2026-01-15T10:00:01.000Z',
    completed_at: '2026-01-15T10:01:00.000Z',
  };
  t.deepEqual(step.changes, [
    {
      write: {
        kind: 'execution-finished',
        execution: execution(1),
        status: 'completed',
        atMs: NOW_MS,
        sentAtMs: MADE_MS + 1_000,
        ending: { exitCode: 3, output: 'no\n', parts: 0, truncated: false },
      },
      events: [{ type: 'edge.command_execution.completed', subject: execution(1), atMs: NOW_MS, data }],
      notices: [
        {
          type: 'execution-changed',
          execution: execution(1),
          command: commandRecord().id,
          node: NODE,
          clusterName: 'factory',
          status: 'completed',
          exitCode: 3,
        },
        { type: 'events-stored' },
      ],
    },
  ]);
  t.deepEqual(step.effects, [sends('confirm', [execution(1)])]);
  t.deepEqual([step.state.open.size, step.state.session?.delivered.size], [0, 0]);
});

test('a result that finds its execution pending emits sent and completed (C6)', (t) => {
  const step = say(liveNode([open(1)]), { type: 'results-arrived', session: session(1), results: [result(1)] });

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
  const step = say(liveNode([open(1, 'sent')]), {
    type: 'results-arrived',
    session: session(1),
    results: [result(1, { outcome: 'cancelled', exit_code: 143, parts: 2, output: '', output_truncated: true })],
  });

  t.deepEqual(step.changes[0]?.write, {
    kind: 'execution-finished',
    execution: execution(1),
    status: 'cancelled',
    atMs: NOW_MS,
    sentAtMs: MADE_MS + 1_000,
    ending: { exitCode: 143, output: '', parts: 2, truncated: true },
  });
  t.deepEqual(step.changes[0]?.events[0]?.data, {
    ...snapshot,
    status: 'cancelled',
    exit_code: 143,
    sent_at: '2026-01-15T10:00:01.000Z',
    cancelled_at: '2026-01-15T10:01:00.000Z',
  });
});

test('a result that is twice in one frame is stored and confirmed once', (t) => {
  const step = say(liveNode([open(1, 'sent')]), {
    type: 'results-arrived',
    session: session(1),
    results: [result(1), result(1, { exit_code: 9 })],
  });

  t.is(step.changes.length, 1);
  t.deepEqual(step.effects, [sends('confirm', [execution(1)])]);
});

test('a result of an execution that is over is confirmed as such and stores nothing (C8)', (t) => {
  const asked = say(liveNode(), { type: 'results-arrived', session: session(1), results: [result(1)] });
  const retry = { type: 'results-arrived', session: session(1), results: [result(1)] } as const;
  t.deepEqual(asked, {
    state: asked.state,
    changes: [],
    effects: [{ type: 'look-up', executions: [execution(1)], retry }],
  });

  const told = say(asked.state, { type: 'executions-looked-up', asked: [execution(1)], executions: [], retry });

  t.deepEqual([told.changes, told.effects], [[], [sends('confirm', [execution(1)])]]);
});

test('a result of an execution that only the rows knew is stored after the look-up', (t) => {
  const retry = { type: 'results-arrived', session: session(1), results: [result(1)] } as const;

  const step = say(liveNode([], { reads: 1 }), {
    type: 'executions-looked-up',
    asked: [execution(1)],
    executions: [open(1, 'sent')],
    retry,
  });

  t.deepEqual(
    step.changes.map((change) => change.write.kind),
    ['execution-finished'],
  );
  t.deepEqual(step.effects, [sends('confirm', [execution(1)])]);
  t.is(step.state.open.size, 0);
});

test('known and unknown results in one frame each go their way', (t) => {
  const step = say(liveNode([open(1, 'sent')]), {
    type: 'results-arrived',
    session: session(1),
    results: [result(1), result(2)],
  });

  t.deepEqual(step.effects, [
    sends('confirm', [execution(1)]),
    {
      type: 'look-up',
      executions: [execution(2)],
      retry: { type: 'results-arrived', session: session(1), results: [result(2)] },
    },
  ]);
});

test('an acknowledgement of an execution that is over makes the agent end it; one that only the rows knew becomes sent and gets its cancel', (t) => {
  const retry = {
    type: 'executions-acknowledged',
    session: session(1),
    executions: [execution(1), execution(2), execution(3)],
  } as const;

  const step = say(liveNode([], { reads: 1 }), {
    type: 'executions-looked-up',
    asked: [execution(1), execution(2), execution(3)],
    executions: [open(2), open(3, 'sent', { cancelRequestedAtMs: MADE_MS })],
    retry,
  });

  t.deepEqual(
    step.changes.map((change) => change.write),
    [{ kind: 'execution-sent', execution: execution(2), atMs: NOW_MS }],
  );
  t.deepEqual(step.effects, [sends('settle', [execution(1)]), sends('cancel', [execution(3)])]);
  t.deepEqual([...(step.state.session?.delivered ?? [])], [execution(2), execution(3)]);
});

test('what was read is older than what is known', (t) => {
  const step = say(liveNode([open(1, 'sent')], { reads: 1 }), {
    type: 'executions-looked-up',
    asked: [execution(1)],
    executions: [open(1)],
    retry: { type: 'executions-acknowledged', session: session(1), executions: [execution(1)] },
  });

  t.deepEqual(step.changes, []);
  t.is(step.state.open.get(execution(1))?.status, 'sent');
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
  const over = say(liveNode([], { reads: 1 }), {
    type: 'executions-looked-up',
    asked: [execution(1)],
    executions: [],
    retry: part,
  });

  t.deepEqual(stored.changes, [
    { write: { kind: 'output-part', execution: execution(1), part: 4, text: 'abc' }, events: [], notices: [] },
  ]);
  t.deepEqual(stored.effects, [
    { type: 'send', session: session(1), frame: { type: 'part-stored', execution: execution(1), part: 4 } },
  ]);
  t.deepEqual([over.changes, over.effects], [[], [sends('settle', [execution(1)])]]);
});

test('a pending execution is cancelled at once, with 143, and whatever of it reached the agent is ended', (t) => {
  const step = say(liveNode([open(1)]), { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO });

  t.deepEqual(step.changes, [
    {
      write: {
        kind: 'execution-finished',
        execution: execution(1),
        status: 'cancelled',
        atMs: NOW_MS,
        sentAtMs: null,
        ending: { exitCode: 143, output: null, parts: 0, truncated: false },
      },
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
      notices: [
        {
          type: 'execution-changed',
          execution: execution(1),
          command: commandRecord().id,
          node: NODE,
          clusterName: 'factory',
          status: 'cancelled',
          exitCode: 143,
        },
        { type: 'events-stored' },
      ],
    },
  ]);
  t.deepEqual(step.effects, [
    { type: 'answer', to: REPLY_TO, result: { ok: true, value: null } },
    sends('settle', [execution(1)]),
  ]);
  t.is(step.state.open.size, 0);
});

test('a sent execution is cancelled by its agent: the intent is stored once, and told at every request', (t) => {
  const first = say(liveNode([open(1, 'sent')]), { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO });
  const second = say(first.state, { type: 'cancel', executions: [execution(1)], replyTo: null });

  t.deepEqual(first.changes, [
    { write: { kind: 'execution-cancel-requested', execution: execution(1), atMs: NOW_MS }, events: [], notices: [] },
  ]);
  t.deepEqual(first.effects, [
    { type: 'answer', to: REPLY_TO, result: { ok: true, value: null } },
    sends('cancel', [execution(1)]),
  ]);
  t.deepEqual([second.changes, second.effects], [[], [sends('cancel', [execution(1)])]]);
});

test('without a session the intent to cancel is stored for later', (t) => {
  const step = say(nodeState({ open: new Map([[execution(1), open(1, 'sent')]]) }), {
    type: 'cancel',
    executions: [execution(1)],
    replyTo: REPLY_TO,
  });

  t.deepEqual(
    step.changes.map((change) => change.write.kind),
    ['execution-cancel-requested'],
  );
  t.deepEqual(step.effects, [{ type: 'answer', to: REPLY_TO, result: { ok: true, value: null } }]);
});

test('a cancel of an execution that is over is a conflict', (t) => {
  const cancel: NodeMessage = { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO };
  const asked = say(liveNode(), cancel);
  t.deepEqual(asked.effects, [{ type: 'look-up', executions: [execution(1)], retry: cancel }]);

  const told = say(asked.state, { type: 'executions-looked-up', asked: [execution(1)], executions: [], retry: cancel });

  t.deepEqual(
    told.effects.filter((effect) => effect.type === 'answer'),
    [
      {
        type: 'answer',
        to: REPLY_TO,
        result: { ok: false, refusal: { code: 'conflict', message: 'The execution has already finished.' } },
      },
    ],
  );
});

test('a cancel that waited for a look-up comes back as a message of its own, so that a refusal of its write is its answer', (t) => {
  const cancel: NodeMessage = { type: 'cancel', executions: [execution(1)], replyTo: REPLY_TO };

  const step = say(liveNode([], { reads: 1 }), {
    type: 'executions-looked-up',
    asked: [execution(1)],
    executions: [open(1)],
    retry: cancel,
  });

  t.deepEqual(
    [step.changes, step.effects],
    [[], [{ type: 'tell', told: { to: { kind: 'node', id: NODE }, message: cancel } }]],
  );
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

test('new executions are delivered in order, with what is left until they expire', (t) => {
  const command = commandRecord({ text: 'uptime', timeoutMs: 5_000, expiredAtMs: NOW_MS + 9_000 });

  const step = say(liveNode(), { type: 'run', executions: [open(1, 'pending', { command }), open(2)] });

  t.deepEqual(step.effects, [
    {
      type: 'send',
      session: session(1),
      frame: {
        type: 'deliver',
        deliveries: [
          { execution: execution(1), command_text: 'uptime', timeout_ms: 5_000, expires_in_ms: 9_000 },
          { execution: execution(2), command_text: 'true', timeout_ms: null, expires_in_ms: null },
        ],
      },
    },
  ]);
});

test('without a session new executions wait', (t) => {
  const step = say(nodeState(), { type: 'run', executions: [open(1)] });

  t.deepEqual([step.effects, [...step.state.open.keys()]], [[], [execution(1)]]);
});

test(`at most ${UNACKNOWLEDGED_MAX} executions are under way without acknowledgement; each acknowledgement makes room`, (t) => {
  const executions = range(1, UNACKNOWLEDGED_MAX + 5).map((number) => open(number));

  const first = say(liveNode(), { type: 'run', executions });
  const second = say(first.state, {
    type: 'executions-acknowledged',
    session: session(1),
    executions: [execution(1), execution(2)],
  });

  t.deepEqual(delivered(first), range(1, UNACKNOWLEDGED_MAX).map(execution));
  t.deepEqual(delivered(second), [execution(UNACKNOWLEDGED_MAX + 1), execution(UNACKNOWLEDGED_MAX + 2)]);
});

test('scripts of one frame stay below its bound together; one that is larger goes alone', (t) => {
  const large = commandRecord({ text: 'x'.repeat(100_000) });

  const step = say(liveNode(), {
    type: 'run',
    executions: [open(1, 'pending', { command: large }), open(2, 'pending', { command: large }), open(3)],
  });

  t.deepEqual(delivered(step), [execution(1)]);
});

test(`a node holds ${OPEN_EXECUTIONS_MAX} executions; the rest is its backlog, asked for when half are over, with those that it has`, (t) => {
  const first = say(liveNode(), {
    type: 'run',
    executions: range(1, OPEN_EXECUTIONS_MAX + 10).map((number) => open(number)),
  });
  t.deepEqual([first.state.open.size, first.state.backlog], [OPEN_EXECUTIONS_MAX, true]);

  const half = OPEN_EXECUTIONS_MAX / 2;
  const later = say(first.state, {
    type: 'results-arrived',
    session: session(1),
    results: range(1, half).map((number) => result(number)),
  });

  t.deepEqual(
    later.effects.filter((effect) => effect.type === 'load-open'),
    [{ type: 'load-open', limit: half, except: range(half + 1, half).map(execution) }],
  );
  t.is(later.state.loading, 'asked');
});

test('executions that are stored while the backlog is read are not missed: it is read again', (t) => {
  const reading = liveNode([], { backlog: true, loading: 'asked', reads: 1 });

  const told = say(reading, { type: 'run', executions: [open(5)] });
  const read = say(told.state, { type: 'executions-loaded', executions: [open(4)], more: false });

  t.deepEqual(told.state, { ...reading, loading: 'more' });
  t.deepEqual(delivered(read), [execution(4)]);
  t.deepEqual(
    read.effects.filter((effect) => effect.type === 'load-open').map((effect) => effect.except),
    [[execution(4)]],
  );
});

test('an execution that ended while rows were read is not taken up again, whatever the reading says (C3)', (t) => {
  const reading = liveNode([], { backlog: true, loading: 'asked', reads: 2 });
  const cancel: NodeMessage = { type: 'cancel', executions: [execution(5)], replyTo: null };

  const cancelled = say(reading, {
    type: 'executions-looked-up',
    asked: [execution(5)],
    executions: [open(5)],
    retry: cancel,
  });
  const expired = say(cancelled.state, { type: 'executions-expired', executions: [execution(6)] });
  const read = say(expired.state, { type: 'executions-loaded', executions: [open(5), open(6), open(7)], more: false });

  t.deepEqual(
    cancelled.changes.map((change) => change.write.kind),
    ['execution-finished'],
  );
  t.deepEqual([...expired.state.over], [execution(5), execution(6)]);
  t.deepEqual(delivered(read), [execution(7)]);
  t.deepEqual([read.state.reads, read.state.over.size], [0, 0]);
});

test('a look-up that was under way when its execution ended finds it over', (t) => {
  const retry = { type: 'executions-acknowledged', session: session(1), executions: [execution(1)] } as const;
  const looking = liveNode([open(1)], { reads: 1 });

  const ended = say(looking, { type: 'results-arrived', session: session(1), results: [result(1)] });
  const found = say(ended.state, {
    type: 'executions-looked-up',
    asked: [execution(1)],
    executions: [open(1, 'sent')],
    retry,
  });

  t.deepEqual([found.changes, found.effects, found.state.open.size], [[], [sends('settle', [execution(1)])], 0]);
});

test('what was committed in doubt is over for the readings under way, as far as the rows tell', (t) => {
  const live = liveNode([open(1), open(2), open(9)], { reads: 1, loading: 'asked' });
  const rows = (backlog: boolean) =>
    nodeState({
      open: new Map([
        [execution(2), open(2)],
        [execution(5), open(5)],
      ]),
      backlog,
    });

  t.deepEqual([...behaviour.refreshed(live, rows(false)).over], [execution(1), execution(9)]);
  t.deepEqual(
    [...behaviour.refreshed(live, rows(true)).over],
    [execution(1)],
    'what is younger than the oldest of a backlog may be open',
  );
  t.like(behaviour.refreshed(live, rows(false)), { session: live.session, reads: 1, loading: 'more' });
});

test('answers to an actor that crashed are asked for again by the one that follows', (t) => {
  const retry = { type: 'results-arrived', session: session(1), results: [result(1)] } as const;

  const again = say(liveNode(), { type: 'executions-looked-up', asked: [execution(1)], executions: [open(1)], retry });

  t.deepEqual([again.changes, again.effects], [[], [{ type: 'look-up', executions: [execution(1)], retry }]]);
});

test('rows that an actor was not waiting for change nothing', (t) => {
  const step = say(liveNode(), { type: 'executions-loaded', executions: [open(4)], more: true });

  t.deepEqual([step.changes, step.effects, step.state.open.size], [[], [], 0]);
});

test('the backlog brings up what happened to it meanwhile: cancelled while pending, sent and lost by the agent, sent and to be cancelled', (t) => {
  const reading = liveNode([], { backlog: true, loading: 'asked', reads: 1, delivered: [execution(3)] });

  const step = say(reading, {
    type: 'executions-loaded',
    executions: [
      open(1, 'pending', { cancelRequestedAtMs: MADE_MS }),
      open(2, 'sent'),
      open(3, 'sent', { cancelRequestedAtMs: MADE_MS }),
    ],
    more: false,
  });

  t.deepEqual(
    step.changes.map(
      (change) =>
        'ending' in change.write && [change.write.execution, change.write.status, change.write.ending.exitCode],
    ),
    [
      [execution(1), 'cancelled', 143],
      [execution(2), 'cancelled', 137],
    ],
  );
  t.deepEqual(step.effects, [sends('settle', [execution(1)]), sends('cancel', [execution(3)])]);
  t.deepEqual([...step.state.open.keys()], [execution(3)]);
});

test('what the backlog brings up as sent, and the agent did not name, is asked for where the agent remembers what it ran', (t) => {
  const live = liveNode([], { backlog: true, loading: 'asked', reads: 1, delivered: [] });
  const reading = { ...live, session: live.session === null ? null : { ...live.session, recalls: true } };

  const step = say(reading, { type: 'executions-loaded', executions: [open(2, 'sent'), open(3)], more: false });

  t.deepEqual(step.changes, []);
  t.deepEqual(
    step.effects.map((effect) => effect.type === 'send' && effect.frame.type),
    ['recall', 'deliver'],
  );
  t.deepEqual([...step.state.open.keys()], [execution(2), execution(3)]);
});

test('a full node remembers that there is more to look for', (t) => {
  const full = liveNode(range(1, OPEN_EXECUTIONS_MAX).map((number) => open(number, 'sent')));

  t.deepEqual(say(full, { type: 'rescan' }).state, { ...full, backlog: true });
  t.deepEqual(say(liveNode([open(1)]), { type: 'rescan' }).effects, [
    { type: 'load-open', limit: OPEN_EXECUTIONS_MAX - 1, except: [execution(1)] },
  ]);
});

test('what a session remembers of executions goes with them (L2)', (t) => {
  let state = liveNode();
  for (let number = 1; number <= 1_000; number += 1) {
    state = say(state, { type: 'run', executions: [open(number)] }).state;
    state = say(state, { type: 'executions-acknowledged', session: session(1), executions: [execution(number)] }).state;
    state = say(state, { type: 'results-arrived', session: session(1), results: [result(number)] }).state;
  }

  t.deepEqual([state.open.size, state.session?.delivered.size], [0, 0]);
});

test('a delivery that was withheld is decided again: what was cancelled or expired meanwhile is not sent', (t) => {
  const state = liveNode([open(2)], { delivered: [execution(1), execution(2)] });

  t.deepEqual(
    delivered(say(state, { type: 'delivery-withheld', session: session(1), executions: [execution(1), execution(2)] })),
    [execution(2)],
  );
});

test('a write that found its execution over makes the agent end it', (t) => {
  const write = { kind: 'execution-sent', execution: execution(1), atMs: NOW_MS } as const;
  const refusal = { code: 'conflict', message: 'The execution has already finished.' } as const;

  t.deepEqual(say(liveNode(), { type: 'refused', write, refusal }).effects, [sends('settle', [execution(1)])]);
  t.deepEqual(say(liveNode([open(1, 'sent')]), { type: 'refused', write, refusal }).effects, []);
  t.deepEqual(say(nodeState({ record: nodeRecord() }), { type: 'refused', write, refusal }).effects, []);
});

function delivered(step: { readonly effects: readonly { readonly type: string }[] }): readonly unknown[] {
  return step.effects.flatMap((effect) => {
    const { frame } = effect as { frame?: { type: string; deliveries?: readonly { execution: unknown }[] } };
    return frame?.type === 'deliver' ? (frame.deliveries ?? []).map((delivery) => delivery.execution) : [];
  });
}
