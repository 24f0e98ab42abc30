/**
 * Whatever comes over the wire, a real admin refuses it clearly, goes on serving the others, and calls nothing a bug.
 * Requests to its operations: fuzz.test.ts.
 */
import { connect } from 'node:net';
import * as fc from 'fast-check';
import ava, { type ExecutionContext } from 'ava';
import { OVER_WITHIN_MS } from '../../../transport/net/frame-window.ts';
import { anything, hostileValues } from '../../support/api/hostile.ts';
import { PORTS } from '../../support/actors.ts';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { enrollment, enrollRaw, reportOf } from '../../support/fleet/raw-agent.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { GARBAGE, HOSTILE_BODIES, OFFENCES } from './hostile-messages.ts';

const { serial: test } = ava; // a hundred at once would measure how the admin bears a crowd
const fleet = sharedFleet(
  ava,
  { agents: 1, env: { AUTH_FAILURES_PER_MINUTE_MAX: '100000' } },
  {
    title: 'no request and no frame was a bug, and the admin still serves',
    check: async (t) => {
      const { program, url } = fleet().admins[0] ?? {};
      t.deepEqual(
        program?.lines().filter(({ level }) => level === 'error'),
        [],
      );
      // a check that a busy machine made late is red for a moment
      await until('it to be healthy', async () => (await fetch(`${url ?? ''}/healthz`)).status === 200);
      t.is(program?.exit, null);
    },
  },
);

/** Cut within this time after the offence, in ms. Source: docs/promises.md, L1. */
const CUT_MS_MAX = 2_000 + BUSY_MS;

for (const [what, body, wanted, headers] of HOSTILE_BODIES) {
  test(`a body that is ${what} is refused with ${wanted.join(' or ')}`, async (t) => {
    const answer = await fleet().rest.call('POST', '/commands', { body, headers });

    t.true((wanted as readonly number[]).includes(answer.status), `${answer.status} ${answer.text.slice(0, 200)}`);
    t.truthy(answer.error?.code);
  });
}

test('enrolment takes anything that strangers send, and answers no 500', async (t) => {
  const fields = Object.keys(enrollment(''));
  const { key } = await fleet().key();
  const post = async (body: object) =>
    (await fleet().rest.call('POST', '/agents/enroll', { body: JSON.stringify(body) })).status;
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...fields, 'recovery_key', 'aliases', '__proto__'), anything),
      fc.boolean(),
      async (body, complete) => {
        const status = await post(complete ? { ...enrollment('e30'), ...body } : body);
        return status >= 400 && status < 500;
      },
    ),
    { numRuns: 40 },
  );
  await fc.assert(
    fc.asyncProperty(hostileValues('labels'), hostileValues('facts'), async (labels, facts) => {
      const status = await post({ ...enrollment(key), labels, facts });
      return status === 201 || (status >= 400 && status < 500);
    }),
    { numRuns: 60 },
  );
  t.pass();
});

for (const [what, greets, offend] of OFFENCES) {
  test(`a session that sends ${what} is cut at once, and its node may come back`, async (t) => {
    const agent = await enrollRaw(t, fleet());
    const session = await agent.connect({ greets });

    const offendedMs = performance.now();
    offend(session);
    const { code } = await session.closed;

    t.true([4008, 1009].includes(code), String(code));
    t.true(performance.now() - offendedMs < scaled(CUT_MS_MAX), `${performance.now() - offendedMs} ms`);
    // What a flood took of its node's share is over by then.
    await until('the end of its share', () => performance.now() - offendedMs > OVER_WITHIN_MS);
    await t.notThrowsAsync(agent.connect());
  });
}

test('a version with a NUL, at enrolment or in a hello, is refused alone: others go on writing', async (t) => {
  const agent = await enrollRaw(t, fleet());
  const { key } = await fleet().key();
  const version = '1.0.0\u0000';
  const statuses: number[][] = [];

  for (let round = 0; round < 10; round += 1) {
    const session = await agent.connect({ greets: false });
    session.send({
      type: 'hello',
      protocol: 1,
      node: agent.node_id,
      registration: { version, id_type: 'persistent', ports: PORTS, self_update_enabled: false },
      report: reportOf(true),
      holding: [],
    });
    const asked = [
      fleet().rest.call('POST', '/agents/enroll', { body: { ...enrollment(key), version } }),
      fleet().rest.call('POST', '/clusters', { body: { name: `beside-${round}` } }),
    ];
    statuses.push((await Promise.all(asked)).map(({ status }) => status));
    await session.closed;
  }

  t.deepEqual(
    statuses,
    Array.from({ length: 10 }, () => [422, 201]),
  );
  await t.notThrowsAsync(agent.connect());
});

test('an agent that reports on an execution of another node changes nothing of it', async (t) => {
  const [agent] = fleet().agents;
  const command = await fleet().run('sleep 1000', { targeting: { type: 'nodes', node_ids: [agent?.node ?? ''] } });
  const [execution] = await fleet().settled(command, ([one]) => one?.status === 'sent');
  const thief = await enrollRaw(t, fleet());
  const id = execution?.id as never;

  const session = await thief.connect({ holding: [id] });
  session.send({ type: 'acknowledge', executions: [id] });
  session.send({ type: 'output-part', execution: id, part: 0, text: 'forged' });
  session.send({
    type: 'result',
    results: [
      { execution: id, outcome: 'completed', exit_code: 0, output: 'forged', parts: 0, output_truncated: false },
    ],
  });
  session.send({ type: 'tail-output', execution: id, offset: 0, text: 'forged', end: true });
  const confirmed = await session.frame('confirm');

  t.deepEqual(confirmed.executions, [id], 'it is told to forget what is not its own');
  t.like((await fleet().executionsOf(command))[0], { status: 'sent', output: null });
  await fleet().rest.post(`/commands/${command.id}/cancel`);
  t.like((await fleet().settled(command))[0], { status: 'cancelled', exit_code: 143 });
});

test('a result with text that no database takes is stored with replacements and confirmed', async (t) => {
  const agent = await enrollRaw(t, fleet());
  const session = await agent.connect();
  const command = await fleet().run('true', { targeting: { type: 'nodes', node_ids: [agent.node_id] } });
  const {
    deliveries: [delivery],
  } = await session.frame('deliver');

  session.send({
    type: 'result',
    results: [
      {
        execution: delivery?.execution as never,
        outcome: 'completed',
        exit_code: 0,
        output: 'a\u0000b\ud800c',
        parts: 0,
        output_truncated: false,
      },
    ],
  });
  await session.frame('confirm');

  const [stored] = await fleet().settled(command);
  t.is(stored?.status, 'completed');
  t.is(stored?.output, 'a\uFFFDb\uFFFDc');
});

for (const [what, bytes] of Object.entries(GARBAGE)) {
  test(`${what} on the port is answered with a refusal or nothing, and ends`, async (t) => {
    const answer = await exchange(t, bytes);

    t.true(answer === '' || /^HTTP\/1\.1 4\d\d /u.test(answer), answer.slice(0, 200));
    t.notRegex(answer, /^HTTP\/1\.1 (?:200|101)|\bat .*\.(?:ts|js):\d+/mu);
  });
}

/** All that the admin answers to bytes, until it or this side has nothing more to say. */
async function exchange(t: ExecutionContext, bytes: string | Buffer): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(fleet().admins[0]?.url ?? '').port) });
  t.teardown(() => {
    socket.destroy();
  });
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', () => {}); // reset by the admin
  socket.end(bytes);
  await new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
  });
  return answer;
}
