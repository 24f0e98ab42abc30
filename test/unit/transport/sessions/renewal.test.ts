/** Sessions of nodes that move: they go on under another number, on the same connection. */
import test from 'ava';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import { execution, OTHER_CLUSTER } from '../../../support/actors.ts';
import { until } from '../../../support/until.ts';
import { openGate } from './fixture.ts';

test('the session of a moved node goes on under a new id: frames before its hello are dropped, frame numbers go on', async (t) => {
  const fixture = await openGate(t);
  const agent = fixture.dial();
  await agent.opened();
  agent.hello({ protocol: PROTOCOL_VERSION });
  await until('the hello', () => fixture.messages('agent-connected').length === 1);
  const { session } = fixture.messages('agent-connected')[0]!;

  fixture.sessions.renew(session, OTHER_CLUSTER);
  await until('it is asked to greet', () => agent.frames.length === 1);
  agent.send({ type: 'acknowledge', executions: [execution(1)] });
  agent.hello({ protocol: PROTOCOL_VERSION });
  await until('the second hello', () => fixture.messages('agent-connected').length === 2);
  const { session: next } = fixture.messages('agent-connected')[1]!;
  fixture.sessions.send(session, { type: 'pong' });
  fixture.sessions.send(next, { type: 'pong' });
  await until('the pong', () => agent.frames.length === 2);

  t.deepEqual(agent.frames, [
    { seq: 1, type: 'greet' },
    { seq: 2, type: 'pong' },
  ]);
  t.deepEqual(
    fixture.told.map(({ message }) => message.type),
    ['agent-connected', 'agent-disconnected', 'agent-connected'],
  );
  t.not(next, session);
  t.is(fixture.sessions.count(), 1);
});

test('an agent that is too old to say hello again is sent to connect anew when its node moves', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();

  fixture.sessions.renew(fixture.messages('agent-connected')[0]!.session, OTHER_CLUSTER);

  t.is((await agent.closed()).code, 4010);
});
