/** Agents that are connected hear that other admins came or went: they ping more often, or as before. */
import test from 'ava';
import type { AgentFrameBody } from '../../../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION_DOUBTS } from '../../../../transport/protocol/version.ts';
import { REGISTRATION, SETTINGS } from '../../../support/actors.ts';
import { column } from '../../../support/database/columns.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';
import { openGate, welcomed } from './fixture.ts';

const PEERED = { ping_ms: 3_300, suspect_after_ms: 3_000 };

/** What an agent hears with two pings while its admin is alone, with two once it has peers, and with two more. */
async function heard(t: Scope, hello: Partial<Extract<AgentFrameBody, { type: 'hello' }>>) {
  const settings = { ...SETTINGS.agent };
  const fixture = await openGate(t, { settings });
  const agent = fixture.dial();
  await agent.opened();
  agent.hello(hello);
  await until('the hello is heard', () => fixture.messages('agent-connected').length === 1);
  await welcomed(fixture, agent);
  const answers = async () => {
    const before = agent.frames.length;
    for (let pings = 0; pings < 2; pings += 1) agent.send({ type: 'ping' });
    const frames = () => agent.frames.slice(before);
    await until('both pings are answered', () => frames().filter(({ type }) => type === 'pong').length === 2);
    return column(frames(), 'type');
  };
  const alone = await answers();
  Object.assign(settings, PEERED);
  const changed = await answers();
  return { alone, changed, later: await answers(), told: agent.frames.find(({ type }) => type === 'settings') };
}

test('an agent hears with its next ping that it is to ping at another pace, once', async (t) => {
  const { alone, changed, later, told } = await heard(t, { protocol: PROTOCOL_VERSION_DOUBTS });

  t.deepEqual(
    [alone, changed, later],
    [
      ['pong', 'pong'],
      ['pong', 'settings', 'pong'],
      ['pong', 'pong'],
    ],
  );
  t.like(told, { settings: PEERED });
});

test('agents of before, and those that ping as often as they say themselves, are told nothing between their refreshes', async (t) => {
  const rhythm = { ping_ms: 60_000, report_ms: 600_000 };
  const quiet = { alone: ['pong', 'pong'], changed: ['pong', 'pong'], later: ['pong', 'pong'], told: undefined };

  t.deepEqual(await heard(t, { protocol: PROTOCOL_VERSION_DOUBTS - 1 }), quiet);
  t.deepEqual(await heard(t, { protocol: PROTOCOL_VERSION_DOUBTS, registration: { ...REGISTRATION, rhythm } }), quiet);
});
