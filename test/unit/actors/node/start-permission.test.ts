/** What an agent that stood still is told of what it has not started (C8). */
import test from 'ava';
import { execution, liveNode, NOW_MS, open, openCommand, session } from '../../../support/actors.ts';
import { lookedUp, say } from './fixture.ts';
import { ofType, writesOf } from '../../../support/steps.ts';

const question = {
  type: 'executions-asked',
  session: session(1),
  ask: 7,
  executions: [1, 2, 3, 4].map(execution),
} as const;
const send = (frame: object) => ({ type: 'send', session: session(1), frame });

test('the rows are asked, also about executions that this actor holds: another admin may have ended them', (t) => {
  const step = say(liveNode([open(1, 'sent')]), question);

  t.deepEqual(step.effects, [{ type: 'look-up', executions: question.executions, retry: question }]);
  t.deepEqual(say(liveNode(), { ...question, session: session(2) }).effects, []);
});

test('executions that are over are settled, unwanted ones cancelled, and the others get the time in which to start', (t) => {
  const held = [open(1, 'sent'), open(2, 'sent'), open(3, 'sent')];
  const rows = [
    open(2, 'sent', { cancelRequestedAtMs: NOW_MS - 5 }),
    open(3, 'sent', { command: openCommand({ expiredAtMs: NOW_MS + 2_500 }) }),
    open(4),
  ];
  const asking = say(liveNode(held), question).state;

  const step = say(asking, lookedUp(question.executions, rows, question));

  t.deepEqual(step.effects, [
    send({ type: 'settle', executions: [execution(1)] }),
    send({ type: 'cancel', executions: [execution(2)] }),
    send({
      type: 'still-open',
      ask: 7,
      executions: [
        { execution: execution(3), expires_in_ms: 2_500 },
        { execution: execution(4), expires_in_ms: null },
      ],
    }),
  ] as never);
  t.deepEqual(writesOf(step), [{ kind: 'execution-sent', execution: execution(4), atMs: NOW_MS }]);
  t.deepEqual([...step.state.open.keys()], [2, 3, 4].map(execution));
});

test('an answer for a session that is gone settles nothing and opens nothing', (t) => {
  const asking = say(liveNode([open(1, 'sent')]), question).state;

  const step = say({ ...asking, session: null }, lookedUp(question.executions, [open(1, 'sent')], question));

  t.deepEqual(ofType(step.effects, 'send'), []);
});
