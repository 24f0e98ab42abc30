/** How sessions end, over real sockets, and when an agent was last heard. */
import test, { type ExecutionContext } from 'ava';
import { createBus } from '../../../../actors/bus.ts';
import { IN_DOUBT_REASON } from '../../../../transport/protocol/close-codes.ts';
import { HELLO_MS_MAX, SESSION_SILENCE_MS_MAX } from '../../../../transport/protocol/limits.ts';
import { endRevoked } from '../../../../transport/sessions/revocations.ts';
import { PROTOCOL_VERSION } from '../../../../transport/protocol/version.ts';
import { REPORT_LATE_MS, SWEEP_MS } from '../../../../transport/sessions/limits.ts';
import type { ClusterId, NodeId } from '../../../../transport/protocol/ids.ts';
import { CLUSTER, HEALTHY, NODE, OTHER_CLUSTER, REGISTRATION, SETTINGS } from '../../../support/actors.ts';
import { BUSY_MS, scaled } from '../../../support/busy.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { silentLog } from '../../../support/log.ts';
import { until } from '../../../support/until.ts';
import { openGate } from './fixture.ts';

test('a session without a hello in time and a silent one are ended, and the node gets the time it was last heard', async (t) => {
  const clock = createFakeClock();
  const fixture = await openGate(t, { clock });
  const mute = fixture.dial();
  await mute.opened();
  clock.pass(HELLO_MS_MAX + SWEEP_MS);
  t.is((await mute.closed()).code, 1006);
  t.deepEqual(fixture.told, []);

  const heardMs = clock.nowMs();
  const silent = await fixture.live();
  clock.pass(SESSION_SILENCE_MS_MAX);
  t.is(fixture.sessions.count(), 1);
  clock.pass(2 * SWEEP_MS);
  t.is((await silent.closed()).code, 1006);
  t.deepEqual(
    fixture.messages('agent-disconnected').map((message) => message.lastHeardMs),
    [heardMs],
  );
});

for (const type of ['node-removed', 'node-revoked'] as const)
  test(`what is open to a node ends with the news ${type} (E5); where that is in doubt its agent is asked to come again`, async (t) => {
    const fixture = await openGate(t);
    const bus = createBus(silentLog);
    const ended: string[] = [];
    endRevoked(bus, fixture.sessions, { end: (node) => ended.push(node) });
    const agent = await fixture.live();

    bus.publish([{ type: 'node-changed', node: NODE }]);
    t.deepEqual(ended, []);
    bus.publish([{ type, node: NODE }]);
    t.is(fixture.sessions.count(), 1, 'its actor hangs up');
    bus.publish([{ type, node: NODE, isInDoubt: true }]);

    t.deepEqual(await agent.closed(), { code: 4000, reason: IN_DOUBT_REASON });
    t.deepEqual(ended, [NODE, NODE]);
  });

test("a session that waits to go to another admin ends when its node is revoked; the node's newer one stays (E5)", async (t) => {
  const fixture = await openGate(t, { clock: createFakeClock() });
  const bus = createBus(silentLog);
  endRevoked(bus, fixture.sessions, { end: () => {} });
  const agents = [await fixture.live(1), await fixture.live(2)];
  const before = fixture.messages('agent-connected').map(({ session }) => session);
  fixture.sessions.depart(new Set([CLUSTER]), 'http://b');
  const [told] = fixture.messages('agent-disconnected').map(({ session }) => before.indexOf(session)); // one, at once
  const place = told === 0 ? 1 : 0;
  const [node] = fixture.sessions.strays.nodes();
  const newer = await fixture.live(place + 1);

  bus.publish([{ type: 'node-revoked', node: node as NodeId }]);

  t.deepEqual(await agents[place]?.closed(), { code: 4000, reason: IN_DOUBT_REASON });
  t.is(fixture.sessions.count(), 1);
  t.is(newer.socket.readyState, newer.socket.OPEN);
});

test('a session of a cluster that is at another admin, or on its way there, ends when its node is revoked (E5)', async (t) => {
  const fixture = await openGate(t, { holds: () => false });
  const bus = createBus(silentLog);
  endRevoked(bus, fixture.sessions, { end: () => {} });
  const [agent, other] = [await fixture.live(1), await fixture.live(2)];

  bus.publish([{ type: 'node-revoked', node: NODE }]);

  t.deepEqual(await agent.closed(), { code: 4000, reason: IN_DOUBT_REASON });
  t.is(other.socket.readyState, other.socket.OPEN);
});

/** A node that moved between the look at its agent's token and its hello: its actor lives in the other cluster. */
async function moveBehindGate(t: ExecutionContext, held: readonly ClusterId[]) {
  const fixture = await openGate(t, { clock: createFakeClock(), holds: (cluster) => held.includes(cluster) });
  const agent = await fixture.live();
  const { session } = fixture.messages('agent-connected')[0]!;
  const welcome = { protocol: PROTOCOL_VERSION, cluster_name: 'b', settings: SETTINGS.agent };
  fixture.sessions.send(session, { type: 'welcome', ...welcome }, OTHER_CLUSTER);
  return { sessions: fixture.sessions, agent };
}

test('an agent whose node moved behind the gate goes where the cluster goes in which it was welcomed', async (t) => {
  const { sessions, agent } = await moveBehindGate(t, [CLUSTER, OTHER_CLUSTER]);

  sessions.depart(new Set([CLUSTER]), 'http://a');
  sessions.depart(new Set([OTHER_CLUSTER]), 'http://b');

  t.deepEqual(await agent.closed(), { code: 4010, reason: 'http://b' });
});

test('a session whose node moved behind the gate ends on revocation once the new cluster is given away (E5)', async (t) => {
  const { sessions, agent } = await moveBehindGate(t, [CLUSTER]);

  sessions.strays.end(NODE);

  t.deepEqual(await agent.closed(), { code: 4000, reason: IN_DOUBT_REASON });
});

test('an agent that says how seldom it is heard is waited for in proportion', async (t) => {
  const clock = createFakeClock();
  const fixture = await openGate(t, { clock });
  const agent = fixture.dial();
  await agent.opened();
  agent.hello({ registration: { ...REGISTRATION, rhythm: { ping_ms: 60_000, report_ms: 600_000 } } });
  await until('it is greeted', () => fixture.messages('agent-connected').length === 1);

  clock.pass(119_000);
  t.is(fixture.sessions.count(), 1);
  t.is(fixture.messages('report-late').length, 0);
  clock.pass(2_000 + SWEEP_MS);

  t.is((await agent.closed()).code, 1006);
});

test('an agent that pings and does not report is told of as late, once', async (t) => {
  const clock = createFakeClock();
  const fixture = await openGate(t, { clock });
  const agent = await fixture.live();
  for (let elapsedMs = 0; elapsedMs < REPORT_LATE_MS + 15_000; elapsedMs += 5_000) {
    clock.pass(5_000);
    agent.send({ type: 'ping' });
    const pongs = agent.frames.length;
    await until('it is answered', () => agent.frames.length > pongs);
  }
  t.is(fixture.messages('report-late').length, 1);

  agent.send({ type: 'report', report: HEALTHY });
  await until('it is heard', () => fixture.messages('agent-reported').length === 1);
  for (let elapsedMs = 0; elapsedMs < REPORT_LATE_MS + 15_000; elapsedMs += 5_000) {
    clock.pass(5_000);
    agent.send({ type: 'ping' });
    const pongs = agent.frames.length;
    await until('it is answered', () => agent.frames.length > pongs);
  }
  t.is(fixture.messages('report-late').length, 2);
});

test('hanging up carries its code and its reason, to a session or to whatever session a node has', async (t) => {
  const fixture = await openGate(t);
  const older = await fixture.live();
  const newer = await fixture.live();
  const [first] = fixture.messages('agent-connected');

  fixture.sessions.hangUp(first!.session, 4001, 'a newer session of this node took over');
  t.deepEqual(await older.closed(), { code: 4001, reason: 'a newer session of this node took over' });
  fixture.sessions.hangUpNode(NODE, 4003, 'the node was deleted');
  t.deepEqual(await newer.closed(), { code: 4003, reason: 'the node was deleted' });

  t.deepEqual(
    fixture.messages('agent-disconnected').map((message) => message.session),
    fixture.messages('agent-connected').map((message) => message.session),
  );
});

test('hanging up ends a session too that has not said hello: what its token was good for may be over', async (t) => {
  const fixture = await openGate(t);
  const [agent, mute] = [await fixture.live(), fixture.dial()];
  await mute.opened();

  fixture.sessions.hangUpNode(NODE, 4003, 'the node was enrolled again');

  for (const one of [agent, mute]) t.is((await one.closed()).code, 4003);
  t.is(fixture.sessions.count(), 0);
});

test('a reason that is too long is cut between two characters', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();

  fixture.sessions.hangUpNode(NODE, 4003, 'é'.repeat(100));

  t.deepEqual(await agent.closed(), { code: 4003, reason: 'é'.repeat(61) });
});

test('a peer that does not answer a close is gone a second later', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();
  agent.socket.pause();
  const began = performance.now();

  fixture.sessions.hangUpNode(NODE, 4003, '');
  agent.socket.resume();
  await agent.closed();

  t.true(performance.now() - began < scaled(1_000 + BUSY_MS));
});

test('when the admin stops, every agent is told to come back, also one that comes just then', async (t) => {
  const fixture = await openGate(t);
  const agents = [await fixture.live(), await fixture.live()];

  fixture.sessions.close();
  const late = fixture.dial();

  for (const agent of [...agents, late])
    t.deepEqual(await agent.closed(), { code: 4000, reason: 'the admin is shutting down' });
});

test('frames to a session that is gone are dropped', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();
  const { session } = fixture.messages('agent-connected')[0]!;
  agent.socket.close();
  await until('it is gone', () => fixture.sessions.count() === 0);

  t.notThrows(() => fixture.sessions.send(session, { type: 'pong' }));
  t.notThrows(() => fixture.sessions.hangUp(session, 4000, ''));
});

test('who was heard is told once, also of sessions that have ended since', async (t) => {
  const clock = createFakeClock();
  const fixture = await openGate(t, { clock });
  const agent = await fixture.live();
  const greetedMs = clock.nowMs();
  clock.pass(1_000);
  t.deepEqual(fixture.sessions.heard(), [{ node: NODE, atMs: greetedMs }]);

  clock.pass(1_000);
  t.deepEqual(fixture.sessions.heard(), []);
  agent.send({ type: 'ping' });
  await until('it is answered', () => agent.frames.length === 1);
  const heardMs = clock.nowMs();
  agent.socket.close();
  await until('it is gone', () => fixture.sessions.count() === 0);
  clock.pass(500);

  t.deepEqual(fixture.sessions.heard(), [{ node: NODE, atMs: heardMs }]);
  t.deepEqual(fixture.sessions.heard(), []);
});
