/** Machines that enrol a node again that is enrolled, honest and hostile ones, at a real admin (L1). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import { EXECUTIONS_PER_FRAME_MAX } from '../../../transport/protocol/limits.ts';
import { LOOKED_UP_BURST_MAX } from '../../../actors/node/look-ups.ts';
import { ENROLLED_AGAIN_BURST_MAX, ENROLLED_AGAIN_PER_MINUTE_MAX } from '../../../api/rest/enrolling-again.ts';
import { id } from '../../support/actors.ts';
import { enrollment, rawAgent } from '../../support/fleet/raw-agent.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { column } from '../../support/database/columns.ts';

const fleet = sharedFleet(test, { agents: 0 });

/** Tries of a hostile machine: more than it is granted, also where they take a minute. */
const HOSTILE_TRIES = 3 * ENROLLED_AGAIN_BURST_MAX;

const enrol = (body: object) =>
  settledAnswer(() => fleet().rest.call<EnrollAnswer>('POST', '/agents/enroll', { body }));

/** A machine that knows its secret, and the key of one use that let it in. */
async function machine(secret: string) {
  const { key, id: keyId } = await fleet().key({ uses_remaining: 1 });
  const body = { ...enrollment(key), machine_secret: secret.repeat(43) };
  const { status, data } = await enrol(body);
  if (status !== 201) throw new Error(`the first enrolment answered ${status}`);
  return { body, keyId, node: body.node_id, answer: data };
}

test('a machine that enrols its node without end, by a spent key, is let in as often as it may be; others are at once', async (t) => {
  const hostile = await machine('h');
  const honest = await machine('o');
  const session = await rawAgent(t, () => fleet().admin().url, hostile.answer).connect();

  const beganMs = performance.now();
  const answers = [];
  for (let tries = 0; tries < HOSTILE_TRIES; tries += 1) answers.push(await enrol(hostile.body));
  const minutes = (performance.now() - beganMs) / 60_000;

  const letIn = answers.filter(({ status }) => status === 201).length;
  t.deepEqual(new Set(column(answers, 'status')), new Set([201, 429]));
  t.true(letIn >= ENROLLED_AGAIN_BURST_MAX);
  t.true(letIn <= ENROLLED_AGAIN_BURST_MAX + Math.ceil(minutes * ENROLLED_AGAIN_PER_MINUTE_MAX) + 1);
  const limited = answers.find(({ status }) => status === 429);
  t.is(limited?.error?.code, 'rate_limited');
  t.true(Number(limited?.headers.get('retry-after')) <= 60 / ENROLLED_AGAIN_PER_MINUTE_MAX);
  t.is((await session.closed).code, 4003);
  t.is((await enrol(honest.body)).status, 201);
  t.truthy(await machine('n'));
  const events = await fleet().sql('select 1 from event where type = $1 and subject = $2', [
    'edge.node.reregistered',
    hostile.node,
  ]);
  t.is(events.length, letIn);
  t.like(await fleet().rest.get(`/enrollment_keys/${hostile.keyId}`), { uses_remaining: 0 });
});

test('a stranger who knows the id of a node is refused; an agent whose answer was lost and a recovery get in', async (t) => {
  const own = await fleet().key({ uses_remaining: 1 });
  const agent = await fleet().addHealthyAgent({ ENROLLMENT_KEY: own.key });
  const { node } = agent;
  const other = await machine('r');
  const { key, id: keyId } = await fleet().key({ uses_remaining: 2 });
  const { recovery_key } = await fleet().rest.post<{ recovery_key: string }>(`/nodes/${other.node}/recovery_key`);
  const strangers = [
    enrollment(key, node),
    { ...enrollment(key, other.node), recovery_key: `${other.node}.a-secret-that-fits-nothing` },
  ];

  const statuses: number[] = [];
  while (!statuses.includes(429) && statuses.length < 200)
    statuses.push((await enrol(strangers[statuses.length % 2] ?? {})).status);

  t.deepEqual([...new Set(statuses)], [409, 429]);
  await agent.kill();
  const file = join(agent.dataDirectory, 'identity.json');
  const identity = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...identity, enrollment: null })); // the power went before the answer came
  agent.start({ ENROLLMENT_KEY: own.key });
  await agent.live();
  t.is(agent.node, node);
  t.like(await fleet().rest.get(`/enrollment_keys/${own.id}`), { uses_remaining: 0 });
  const recovered = { ...enrollment(key, other.node), recovery_key, machine_secret: 'R'.repeat(43) };
  t.deepEqual([(await enrol(recovered)).status, (await enrol(recovered)).status], [201, 201]);
  t.like(await fleet().rest.get(`/enrollment_keys/${keyId}`), { uses_remaining: 1 });
});

test('a node has spent what it has spent, though its machine enrols it again', async (t) => {
  const { body, answer } = await machine('s');
  const unknown = Array.from({ length: EXECUTIONS_PER_FRAME_MAX }, (_, number) => id('e', number));
  const url = () => fleet().admin().url;
  const sessions = LOOKED_UP_BURST_MAX / EXECUTIONS_PER_FRAME_MAX;
  const first = rawAgent(t, url, answer);
  for (let count = 0; count < sessions; count += 1) await first.connect({ holding: unknown });

  const again = rawAgent(t, url, (await enrol(body)).data);

  const opened = [];
  for (let count = 0; count < sessions; count += 1) opened.push(await again.connect({ holding: unknown }));
  (await again.connect()).cut(); // takes the place of the last of them
  const codes = column(await Promise.all(opened.map(({ closed }) => closed)), 'code');
  t.true(codes.includes(4008), `${codes.join(', ')}: it may name as many more executions as at first`);
});
