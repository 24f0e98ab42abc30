/** What the rows bring up of executions that the node does not hold: looked up, loaded, found again (C3, C5). */
import test from 'ava';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { OPEN_EXECUTIONS_MAX } from '../../../../actors/node/state.ts';
import { execution, liveNode, MADE_MS, nodeState, NOW_MS, open, result } from '../../../support/actors.ts';
import { sends, range, delivered } from './executions-fixture.ts';
import { arrived, acknowledged, behaviour, lookedUp, say } from './fixture.ts';
import { ofType, writesOf, kindsOf } from '../../../support/steps.ts';
import { column } from '../../../support/database/columns.ts';

test('an acknowledged execution that is over is settled; one that only the rows have becomes sent or is cancelled', (t) => {
  const retry = acknowledged(execution(1), execution(2), execution(3));

  const step = say(
    liveNode([], { reads: 1 }),
    lookedUp(
      [execution(1), execution(2), execution(3)],
      [open(2), open(3, 'sent', { cancelRequestedAtMs: MADE_MS })],
      retry,
    ),
  );

  t.deepEqual(writesOf(step), [{ kind: 'execution-sent', execution: execution(2), atMs: NOW_MS }]);
  t.deepEqual(step.effects, [sends('settle', [execution(1)]), sends('cancel', [execution(3)])]);
  t.deepEqual([...(step.state.session?.delivered ?? [])], [execution(2), execution(3)]);
});

test('what was read is older than what is known', (t) => {
  const step = say(
    liveNode([open(1, 'sent')], { reads: 1 }),
    lookedUp([execution(1)], [open(1)], acknowledged(execution(1))),
  );

  t.deepEqual(step.changes, []);
  t.is(step.state.open.get(execution(1))?.status, 'sent');
});

test(`a node holds ${OPEN_EXECUTIONS_MAX} executions, and loads the rest, except those that it has, when half are over`, (t) => {
  const first = say(liveNode(), {
    type: 'run',
    executions: range(1, OPEN_EXECUTIONS_MAX + 10).map((number) => open(number)),
  });
  t.deepEqual([first.state.open.size, first.state.backlog], [OPEN_EXECUTIONS_MAX, true]);

  const half = OPEN_EXECUTIONS_MAX / 2;
  const later = say(first.state, arrived(...range(1, half).map((number) => result(number))));

  t.deepEqual(ofType(later.effects, 'load-open'), [
    { type: 'load-open', limit: half, except: range(half + 1, half).map(execution) },
  ]);
  t.is(later.state.loading, 'asked');
});

test('executions that are stored while the backlog is read are not missed: it is read again', (t) => {
  const reading = liveNode([], { backlog: true, loading: 'asked', reads: 1 });

  const told = say(reading, { type: 'run', executions: [open(5)] });
  const read = say(told.state, { type: 'executions-loaded', executions: [open(4)], more: false });

  t.deepEqual(told.state, { ...reading, loading: 'more' });
  t.deepEqual(delivered(read), [execution(4)]);
  t.deepEqual(column(ofType(read.effects, 'load-open'), 'except'), [[execution(4)]]);
});

test('an execution that ended while rows were read is not taken up again, whatever the reading says (C3)', (t) => {
  const reading = liveNode([], { backlog: true, loading: 'asked', reads: 2 });
  const cancel: NodeMessage = { type: 'cancel', executions: [execution(5)], replyTo: null };

  const cancelled = say(reading, lookedUp([execution(5)], [open(5)], cancel));
  const expired = say(cancelled.state, { type: 'executions-expired', executions: [execution(6)] });
  const read = say(expired.state, { type: 'executions-loaded', executions: [open(5), open(6), open(7)], more: false });

  t.deepEqual(kindsOf(cancelled), ['execution-finished']);
  t.deepEqual([...expired.state.over], [execution(5), execution(6)]);
  t.deepEqual(delivered(read), [execution(7)]);
  t.deepEqual([read.state.reads, read.state.over.size], [0, 0]);
});

test('an execution that the rows brought, and that has ended, is not run again by the late word of its own commit (C3)', (t) => {
  const reading = liveNode([], { loading: 'asked', reads: 1 });

  const read = say(reading, { type: 'executions-loaded', executions: [open(5)], more: false });
  const ended = say(read.state, arrived(result(5)));
  const told = say(ended.state, { type: 'run', executions: [open(5)] });

  t.deepEqual(delivered(read), [execution(5)]);
  t.deepEqual(told.effects, [{ type: 'load-open', limit: OPEN_EXECUTIONS_MAX, except: [] }]);
  t.is(told.state.open.size, 0);
});

test('word of an execution that is older than one which the rows brought is looked up, and of a younger one is not', (t) => {
  const read = say(liveNode([], { reads: 1 }), lookedUp([execution(5)], [open(5, 'sent')], acknowledged(execution(5))));

  t.deepEqual(kinds(say(read.state, { type: 'run', executions: [open(4)] })), ['load-open']);
  t.deepEqual(kinds(say(read.state, { type: 'run', executions: [open(5)] })), []);
  t.deepEqual(delivered(say(read.state, { type: 'run', executions: [open(6)] })), [execution(6)]);
});

test('a look-up that was under way when its execution ended finds it over', (t) => {
  const retry = acknowledged(execution(1));
  const looking = liveNode([open(1)], { reads: 1 });

  const ended = say(looking, arrived(result(1)));
  const found = say(ended.state, lookedUp([execution(1)], [open(1, 'sent')], retry));

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
  const retry = arrived(result(1));

  const again = say(liveNode(), lookedUp([execution(1)], [open(1)], retry));

  t.deepEqual([again.changes, again.effects], [[], [{ type: 'look-up', executions: [execution(1)], retry }]]);
});

test('rows that an actor was not waiting for change nothing', (t) => {
  const step = say(liveNode(), { type: 'executions-loaded', executions: [open(4)], more: true });

  t.deepEqual([step.changes, step.effects, step.state.open.size], [[], [], 0]);
});

test('the backlog applies what happened meanwhile: a cancel while pending, a loss by the agent, a cancel while sent', (t) => {
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

function kinds({ effects }: ReturnType<typeof say>): readonly string[] {
  return effects.map(({ type }) => type);
}
