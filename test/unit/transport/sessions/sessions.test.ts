/** Control sessions over real sockets: what agents say, what they must not say, and how each session ends. */
import test from 'ava';
import { randomBytes } from 'node:crypto';
import {
  FRAME_BYTES_MAX,
  HELLO_MS_MAX,
  OUTPUT_PART_BYTES_MAX,
  SESSION_SILENCE_MS_MAX,
} from '../../../../transport/protocol/limits.ts';
import { REPORT_LATE_MS, SWEEP_MS } from '../../../../transport/sessions/limits.ts';
import { execution, HEALTHY, NODE, REGISTRATION, result, SETTINGS } from '../../../support/actors.ts';
import { BUSY_MS, patient } from '../../../support/busy.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { openGate, welcomed, type Agent } from './fixture.ts';

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

  t.deepEqual(
    fixture.told.map(({ message }) => message),
    [
      {
        type: 'agent-connected',
        session,
        hello: { registration: REGISTRATION, report: HEALTHY, holding: [], recalls: false },
      },
      { type: 'executions-acknowledged', session, executions: [execution(1)] },
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

/** What breaks the contract, and the line that says so. */
const BROKEN: readonly (readonly [string, (agent: Agent) => string | Buffer, RegExp])[] = [
  ['no JSON', () => 'hello', /^not JSON$/u],
  ['JSON that is no frame', () => '[]', /^frame: invalid_type$/u],
  ['an unknown type', (agent) => agent.next({ type: 'sudo' }), /^type: invalid_union$/u],
  [
    'a field of another type',
    (agent) => agent.next({ type: 'acknowledge', executions: [1] }),
    /^executions\.0: invalid_type$/u,
  ],
  [
    'an id that is none',
    (agent) => agent.next({ type: 'acknowledge', executions: ['../../etc/passwd'] }),
    /^executions\.0: invalid_format$/u,
  ],
  [
    'too many of something',
    (agent) =>
      agent.next({ type: 'acknowledge', executions: Array.from({ length: 1_025 }, (_, index) => execution(index)) }),
    /^executions: too_big$/u,
  ],
  [
    'too long a part',
    (agent) =>
      agent.next({
        type: 'output-part',
        execution: execution(1),
        part: 0,
        text: 'x'.repeat(OUTPUT_PART_BYTES_MAX + 1),
      }),
    /^text: too_big$/u,
  ],
  [
    'a number left out',
    (agent) => {
      agent.next({});
      return agent.next({ type: 'ping' });
    },
    /^seq 3 after 1$/u,
  ],
  ['a number twice', () => '{"seq":1,"type":"ping"}', /^seq 1 after 1$/u],
  [
    'a second hello',
    (agent) =>
      agent.next({ type: 'hello', protocol: 1, node: NODE, registration: REGISTRATION, report: HEALTHY, holding: [] }),
    /^a second hello$/u,
  ],
  ['a binary frame', () => Buffer.from('{"seq":2,"type":"ping"}'), /^a binary frame$/u],
  ['a frame over the limit', () => 'x'.repeat(FRAME_BYTES_MAX + 1), /^a frame over 1048576 bytes$/u],
  ['JSON of great depth', () => '['.repeat(500_000), /^not JSON$/u],
  ['depth that is well-formed', () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`, /^frame: invalid_type$/u],
  [
    'a prototype',
    (agent) =>
      agent.next({ type: 'ping' }).replace('{', '{"__proto__":{"seq":9},"constructor":1,').replace('"ping"', '"pong"'),
    /^type: invalid_union$/u,
  ],
];

for (const [name, frame, line] of BROKEN) {
  test(`${name} ends the session with 4008 and one line`, async (t) => {
    const fixture = await openGate(t);
    const agent = await fixture.live();

    agent.socket.send(frame(agent));
    const { code, reason } = await agent.closed();

    t.is(code, 4008);
    t.regex(reason, line);
    await until('its node is told', () => fixture.messages('agent-disconnected').length === 1);
    t.is(fixture.sessions.count(), 0);
  });
}

test('text that is not UTF-8 ends the session with 4008', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();

  agent.socket.send(Buffer.from([0xc3, 0x28]), { binary: false });

  t.deepEqual(await agent.closed(), { code: 4008, reason: 'text that is not UTF-8' });
});

test('a message in very many fragments ends the session with 4008', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();

  for (let index = 0; index < 200; index += 1) agent.socket.send('[', { fin: false });

  t.deepEqual(await agent.closed(), { code: 4008, reason: 'too many fragments' });
});

test("anything before hello, and another node's hello, end the session", async (t) => {
  const fixture = await openGate(t);
  const said: ((agent: Agent) => void)[] = [
    (agent) => agent.send({ type: 'ping' }),
    (agent) => agent.hello({ node: execution(5) as never }),
  ];
  const reasons = [];
  for (const say of said) {
    const agent = fixture.dial();
    await agent.opened();
    say(agent);
    reasons.push(await agent.closed());
  }

  t.deepEqual(reasons, [
    { code: 4008, reason: 'ping before hello' },
    { code: 4008, reason: 'the token belongs to another node' },
  ]);
  t.deepEqual(fixture.told, []);
});

test('random bytes never bring more than the end of their session', async (t) => {
  const fixture = await openGate(t);
  for (let round = 0; round < 40; round += 1) {
    const agent = await fixture.live(round + 1);
    const bytes = randomBytes(1 + round * 37);
    agent.socket.send(round % 2 === 0 ? bytes.toString('latin1') : bytes);
    t.is((await agent.closed()).code, 4008);
  }
  const calm = await fixture.live(41);
  calm.send({ type: 'ping' });
  await until('others are served', () => calm.frames.length === 1);
});

/** The 2 s of L1, and what a busy machine is late by, in ms: a flood that is not cut would go on for all of it. */
const FLOOD_MS_MAX = 12_000;

test.serial('a flood is cut within 2 s with 4008, and the others are served meanwhile (L1)', async (t) => {
  const fixture = await openGate(t);
  const [calm, flooder] = [await fixture.live(1), await fixture.live(2)];
  const began = performance.now();

  const answers: number[] = [];
  while (flooder.socket.readyState === flooder.socket.OPEN && performance.now() - began < FLOOD_MS_MAX) {
    for (let index = 0; index < 1_000; index += 1) flooder.send({ type: 'ping' });
    const asked = performance.now();
    const before = calm.frames.length;
    calm.send({ type: 'ping' });
    await until('the calm one is answered', () => calm.frames.length > before);
    answers.push(performance.now() - asked);
  }

  t.like(await flooder.closed(), { code: 4008, reason: 'more than 500 frames a second' });
  t.true(performance.now() - began < patient(FLOOD_MS_MAX), `${performance.now() - began} ms`);
  t.true(Math.max(...answers) < FLOOD_MS_MAX / 2, `${Math.max(...answers)} ms`);
});

test('an agent whose node has no room for more is cut', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();
  fixture.takes = false;

  agent.send({ type: 'report', report: HEALTHY });

  t.deepEqual(await agent.closed(), { code: 4008, reason: 'too many frames wait to be handled' });
});

test('an agent that does not read is cut once 8 MiB wait for it, and nobody waits with it (L1)', async (t) => {
  const fixture = await openGate(t);
  const agent = await fixture.live();
  const { session } = fixture.messages('agent-connected')[0]!;
  agent.socket.pause();

  let sent = 0;
  while (fixture.sessions.count() === 1 && sent < 2_000) {
    fixture.sessions.send(session, {
      type: 'deliver',
      deliveries: [
        { execution: execution(sent), command_text: 'x'.repeat(100_000), timeout_ms: null, expires_in_ms: null },
      ],
    });
    sent += 1;
    if (sent % 50 === 0)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  }

  t.true(sent < 400, `${sent} frames of 100 kB`);
  t.is(fixture.messages('agent-disconnected').length, 1);
  const [cut] = fixture.log.lines.filter((line) => line.message.includes('cut'));
  t.like(cut?.fields, { problem: 'the agent does not read' });
});

test('a session that does not say hello in time is ended, and so is one that falls silent; its node hears when it was last heard', async (t) => {
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

  t.true(performance.now() - began < patient(1_000 + BUSY_MS));
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

test('an agent hears nothing before its welcome: whoever wants something of its node is told that there is no session yet', async (t) => {
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

test("the live output of an execution goes to whoever asked for it, until it ends or they stop; another node's goes to nobody", async (t) => {
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
