/** What agents and admins say to each other in a session, over real sockets. */
import test from 'ava';
import { execution, HEALTHY, NODE, REGISTRATION, result, SETTINGS } from '../../../support/actors.ts';
import { until } from '../../../support/until.ts';
import { openGate, welcomed } from './fixture.ts';

test('each frame of an agent is a message to its node, with its session', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();
  const session = fixture.messages('agent-connected')[0]?.session;

  agent.send({ type: 'acknowledge', executions: [execution(1)] });
  agent.send({ type: 'result', results: [result(1)] });
  agent.send({ type: 'output-part', execution: execution(1), part: 0, text: 'x' });
  agent.send({ type: 'report', report: HEALTHY });
  agent.send({ type: 'refresh-settings' });
  agent.send({ type: 'ping' });
  await until('the answers are there', () => agent.frames.length === 2);

  const atMs = fixture.messages('executions-acknowledged')[0]?.atMs;
  t.true(Math.abs((atMs ?? 0) - Date.now()) < 60_000, `acknowledged at ${atMs}`);
  t.deepEqual(
    fixture.told.map(({ message }) => message),
    [
      {
        type: 'agent-connected',
        session,
        hello: { registration: REGISTRATION, report: HEALTHY, holding: [], recalls: false, updates: false },
      },
      { type: 'executions-acknowledged', session, executions: [execution(1)], atMs },
      { type: 'results-arrived', session, results: [result(1)] },
      { type: 'output-part-arrived', session, execution: execution(1), part: 0, text: 'x' },
      { type: 'agent-reported', session, report: HEALTHY },
    ] as never,
  );
  t.deepEqual(agent.frames, [
    { seq: 1, type: 'settings', settings: SETTINGS.agent },
    { seq: 2, type: 'pong' },
  ]);
});

test('an agent whose hello is decided again, as its commit was in doubt, is welcomed once', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();

  await welcomed(fixture, agent);
  await welcomed(fixture, agent);
  agent.send({ type: 'ping' });
  await until('what follows is there', () => agent.frames.some(({ type }) => type === 'pong'));

  t.deepEqual(
    agent.frames.map(({ type }) => type),
    ['welcome', 'pong'],
  );
});

test('frames of the admin reach the agent numbered and in order, whatever their length', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();
  const { session } = fixture.messages('agent-connected')[0]!;
  const texts = [1, 100, 125, 126, 200, 65_000, 65_535, 65_536, 130_000].map((length) =>
    'é'.repeat(Math.ceil(length / 2)),
  );

  for (const [index, command_text] of texts.entries())
    fixture.sessions.send(session, {
      type: 'deliver',
      deliveries: [{ execution: execution(index), command_text, timeout_ms: null, expires_in_ms: null }],
    });
  await until('all are there', () => agent.frames.length === texts.length);

  t.deepEqual(
    agent.frames.map((frame) => frame.type === 'deliver' && frame.deliveries[0]?.command_text),
    texts,
  );
});

test('an agent hears nothing before its welcome, and requests to its node fail as without a session', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();

  t.false(fixture.sessions.sendToNode(NODE, { type: 'cancel', executions: [execution(1)] }));
  t.is(
    fixture.sessions.tails.open(
      NODE,
      execution(1),
      0,
      () => undefined,
      () => undefined,
    ),
    null,
  );
  await welcomed(fixture, agent);
  t.true(fixture.sessions.sendToNode(NODE, { type: 'cancel', executions: [execution(1)] }));
  await until('it is told', () => agent.frames.length === 2);
  t.deepEqual(
    agent.frames.map((frame) => frame.type),
    ['welcome', 'cancel'],
  );
});

test('live output of an execution goes to its readers until it ends or they stop, and that of another node to nobody', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();
  await welcomed(fixture, agent);
  const pieces: unknown[] = [];
  const stop = fixture.sessions.tails.open(
    NODE,
    execution(1),
    10,
    (piece) => void pieces.push(piece),
    () => t.fail('the session is the same'),
  );
  await until('the agent is asked', () => agent.frames.length === 2);

  agent.send({ type: 'tail-output', execution: execution(1), offset: 10, text: 'ab', end: false });
  agent.send({ type: 'tail-output', execution: execution(2), offset: 0, text: 'no', end: false });
  agent.send({ type: 'tail-output', execution: execution(1), offset: 12, text: '', end: true });
  await until('it has ended', () => pieces.length === 2);
  stop?.();

  t.deepEqual(pieces, [
    { offset: 10, text: 'ab', end: false },
    { offset: 12, text: '', end: true },
  ]);
  t.deepEqual(
    agent.frames.slice(1).map((frame) => frame.type),
    ['tail'],
    'an ended stream is not stopped',
  );

  const stopOther = fixture.sessions.tails.open(
    NODE,
    execution(3),
    0,
    () => t.fail('it was stopped'),
    () => undefined,
  );
  stopOther?.();
  await until('the agent is told to stop', () => agent.frames.length === 4);
  agent.send({ type: 'tail-output', execution: execution(3), offset: 0, text: 'late', end: false });
  agent.send({ type: 'ping' });
  await until('it is answered', () => agent.frames.length === 5);
  t.deepEqual(
    agent.frames.slice(2).map((frame) => frame.type),
    ['tail', 'untail', 'pong'],
  );
  t.is(
    fixture.sessions.tails.open(
      execution(9) as never,
      execution(1),
      0,
      () => undefined,
      () => undefined,
    ),
    null,
    'a node without a session',
  );
});
