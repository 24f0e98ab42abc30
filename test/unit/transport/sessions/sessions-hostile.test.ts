/** What an agent must not say, over real sockets: broken frames, floods, and what it does not read (L1). */
import test from 'ava';
import { randomBytes } from 'node:crypto';
import { FRAME_BYTES_MAX, OUTPUT_PART_BYTES_MAX } from '../../../../transport/protocol/limits.ts';
import { execution, HEALTHY, NODE, REGISTRATION } from '../../../support/actors.ts';
import { scaled } from '../../../support/busy.ts';
import { until } from '../../../support/until.ts';
import { openGate, type Agent } from './fixture.ts';

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
  while (flooder.socket.readyState === flooder.socket.OPEN && performance.now() - began < scaled(FLOOD_MS_MAX)) {
    for (let index = 0; index < 1_000; index += 1) flooder.send({ type: 'ping' });
    const asked = performance.now();
    const before = calm.frames.length;
    calm.send({ type: 'ping' });
    await until('the calm one is answered', () => calm.frames.length > before);
    answers.push(performance.now() - asked);
  }

  t.like(await flooder.closed(), { code: 4008, reason: 'more than 1000 frames a second' });
  t.true(performance.now() - began < scaled(FLOOD_MS_MAX), `${performance.now() - began} ms`);
  t.true(Math.max(...answers) < scaled(FLOOD_MS_MAX / 2), `${Math.max(...answers)} ms`);
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
