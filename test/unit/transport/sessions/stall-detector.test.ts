import test from 'ava';
import { SWEEP_MS } from '../../../../transport/sessions/limits.ts';
import { CAUGHT_UP_MS } from '../../../../transport/sessions/stall-detector.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { openGate, type Agent, type Fixture } from './fixture.ts';

test('an admin ends no session for its own stall, and reports those that ended meanwhile as its own doing', async (t) => {
  const clock = createFakeClock();
  let stallMs = 0;
  const fixture = await openGate(t, { clock: { ...clock, nowMs: () => clock.nowMs() + stallMs } });
  const staying = await fixture.live();
  clock.pass(SWEEP_MS);

  stallMs = 60_000;
  clock.pass(SWEEP_MS);
  t.is(fixture.sessions.count(), 1);
  t.is(fixture.messages('report-late').length, 0);
  staying.socket.terminate();
  await until('its node is told', () => fixture.messages('agent-disconnected').length === 1);
  const later = await fixture.live();
  later.socket.terminate();
  await until('its node is told', () => fixture.messages('agent-disconnected').length === 2);

  t.deepEqual(
    fixture.messages('agent-disconnected').map(({ isOurs }) => isOurs),
    [true, false],
  );
});

test('an admin that stands still and hears of an end before it looks at its clock knows it too', async (t) => {
  const clock = createFakeClock();
  let stallMs = 0;
  const fixture = await openGate(t, { clock: { ...clock, nowMs: () => clock.nowMs() + stallMs } });
  const gone = await fixture.live();

  stallMs = 60_000;
  gone.socket.terminate();
  await until('its node is told', () => fixture.messages('agent-disconnected').length === 1);

  t.true(fixture.messages('agent-disconnected')[0]?.isOurs);
});

test('what an agent sent meanwhile, and is read after an admin that stood still looked at its clock, is said then', async (t) => {
  const clock = createFakeClock();
  let stallMs = 0;
  const fixture = await openGate(t, { clock: { ...clock, nowMs: () => clock.nowMs() + stallMs } });
  const gaveUp = await fixture.live(1);
  const staying = await fixture.live(2);
  clock.pass(SWEEP_MS);

  stallMs = 60_000;
  clock.pass(SWEEP_MS);
  stallMs += 3;
  const later = await fixture.live(3);
  await pinged(fixture, gaveUp, later);
  gaveUp.socket.terminate();
  await until('its node is told', () => fixture.messages('agent-disconnected').length === 1);
  later.socket.terminate();
  await until('its node is told', () => fixture.messages('agent-disconnected').length === 2);
  for (let passedMs = 0; passedMs < CAUGHT_UP_MS; passedMs += SWEEP_MS) clock.pass(SWEEP_MS);
  await pinged(fixture, staying);
  staying.socket.terminate();
  await until('its node is told', () => fixture.messages('agent-disconnected').length === 3);

  t.deepEqual(
    fixture.messages('agent-disconnected').map(({ isOurs }) => isOurs),
    [true, false, false],
  );
});

/** These ping, and are heard. */
async function pinged({ sessions }: Fixture, ...agents: readonly Agent[]): Promise<void> {
  const pings = sessions.counters.frames.in.ping + agents.length;
  for (const agent of agents) agent.send({ type: 'ping' });
  await until('the pings are heard', () => sessions.counters.frames.in.ping === pings);
}
