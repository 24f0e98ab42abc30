/** Which executions of a node its agent is sent, how many at a time, and what an acknowledgement does (C4). */
import test from 'ava';
import { UNACKNOWLEDGED_MAX } from '../../../../actors/node/delivery.ts';
import { execution, liveNode, nodeState, NOW_MS, open, openCommand, result, session } from '../../../support/actors.ts';
import { snapshot, range, delivered, noticed } from './executions-fixture.ts';
import { arrived, acknowledged, behaviour, say } from './fixture.ts';

test('an acknowledged execution is sent, with its event', (t) => {
  const step = say(liveNode([open(1)]), acknowledged(execution(1)));

  t.deepEqual(step.changes, [
    {
      write: { kind: 'execution-sent', execution: execution(1), atMs: NOW_MS },
      events: [{ type: 'edge.command_execution.sent', subject: execution(1), atMs: NOW_MS, data: snapshot }],
      notices: noticed('sent'),
    },
  ]);
  t.deepEqual(step.effects, []);
  t.deepEqual(step.state.open.get(execution(1)), open(1, 'sent', { sentAtMs: NOW_MS, updatedAtMs: NOW_MS }));
});

test('an execution was sent when its agent said so, however long that waited to be stored', (t) => {
  const said = { ...acknowledged(execution(1)), atMs: NOW_MS - 20 };

  const step = say(liveNode([open(1)]), said);

  t.is(step.state.open.get(execution(1))?.sentAtMs, NOW_MS - 20);
  t.deepEqual(
    step.changes.map(({ write, events }) => [write, events.map(({ atMs }) => atMs)]),
    [[{ kind: 'execution-sent', execution: execution(1), atMs: NOW_MS - 20 }, [NOW_MS - 20]]],
  );
});

test('an acknowledgement waits for the result, unless others wait for what it makes room for', (t) => {
  const few = liveNode(range(1, UNACKNOWLEDGED_MAX).map((n) => open(n)));
  const many = liveNode(range(1, UNACKNOWLEDGED_MAX + 1).map((n) => open(n)));
  const large = liveNode([open(1), open(2)], { delivered: [execution(1)] });
  const linger = (state: typeof few, message: Parameters<typeof say>[1] = acknowledged(execution(1))) =>
    behaviour.lingerMs?.(state, message);

  t.true((linger(few) ?? 0) > 0);
  t.is(linger(many), 0);
  t.is(linger(large), 0, 'its text did not fit into the frame of the first');
  t.is(linger(few, arrived(result(1))), 0);
});

test('an acknowledgement that comes twice stores nothing the second time', (t) => {
  const state = liveNode([open(1, 'sent')]);

  t.deepEqual(say(state, acknowledged(execution(1))).changes, []);
});

test('new executions are delivered in order, with what is left until they expire', (t) => {
  const command = openCommand({ text: 'uptime', timeoutMs: 5_000, expiredAtMs: NOW_MS + 9_000 });

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
  const second = say(first.state, acknowledged(execution(1), execution(2)));

  t.deepEqual(delivered(first), range(1, UNACKNOWLEDGED_MAX).map(execution));
  t.deepEqual(delivered(second), [execution(UNACKNOWLEDGED_MAX + 1), execution(UNACKNOWLEDGED_MAX + 2)]);
});

test('scripts of one frame stay below its bound together; one that is larger goes alone', (t) => {
  const large = openCommand({ text: 'x'.repeat(100_000) });

  const step = say(liveNode(), {
    type: 'run',
    executions: [open(1, 'pending', { command: large }), open(2, 'pending', { command: large }), open(3)],
  });

  t.deepEqual(delivered(step), [execution(1)]);
});

test('what a session remembers of executions goes with them (L2)', (t) => {
  let state = liveNode();
  for (let number = 1; number <= 1_000; number += 1) {
    state = say(state, { type: 'run', executions: [open(number)] }).state;
    state = say(state, acknowledged(execution(number))).state;
    state = say(state, arrived(result(number))).state;
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
