/** Who is in the fleet: enrolment, recovery, moves and removal, with real agents. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import test from 'ava';
import type { AliasResource, NodeResource } from '../../../actors/resources/node.ts';
import { PORTS } from '../../support/actors.ts';
import { CLUSTER } from '../../support/fleet.ts';
import { processesGone, type AgentProgram } from '../../support/fleet/agent-program.ts';
import { restClient, settledAnswer } from '../../support/fleet/rest.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { column } from '../../support/database/columns.ts';

const fleet = sharedFleet(test, {
  agents: 1,
  env: { PUBLIC_ENROLLMENT_KEY_ENABLED: 'true', DEFAULT_CLUSTER_NAME: CLUSTER },
});

/**
 * From the deletion of a node until its agent knows, in ms. Source: docs/promises.md, E5 (1 s), and a second for a busy
 * machine; an agent that nobody tells finds out within 10 s.
 */
const REVOKED_MS_MAX = 2_000;

test('a key of two uses lets exactly two of three agents in; the third ends with status 3 and says why', async (t) => {
  const { key, id } = await fleet().key({ uses_remaining: 2 });
  const agents: AgentProgram[] = [];
  for (let index = 0; index < 3; index += 1) agents.push(await fleet().addAgent({ ENROLLMENT_KEY: key }));

  await until(
    'two sessions and a refusal',
    () => agents.filter(({ program }) => program.exit !== null || program.output.includes('"Connected"')).length === 3,
  );

  const refused = agents.filter(({ program }) => program.exit !== null);
  t.deepEqual(
    refused.map(({ program }) => program.exit),
    [{ code: 3, signal: null }],
  );
  t.regex(refused[0]?.program.output ?? '', /no uses left/u);
  t.like(await fleet().rest.get(`/enrollment_keys/${id}`), { uses_remaining: 0 });
});

test('an agent that joins later is not a target of an earlier command', async (t) => {
  const [early] = fleet().agents;
  const command = await fleet().run('sleep 1000', { targeting: { type: 'clusters', cluster_names: [CLUSTER] } });
  const late = await fleet().addHealthyAgent();

  const executions = await fleet().executionsOf(command);

  t.true(executions.some(({ node_id }) => node_id === early?.node));
  t.false(executions.some(({ node_id }) => node_id === late.node));
  await fleet().rest.post(`/commands/${command.id}/cancel`);
});

test('a deleted node has its executions dropped and its session ended at once, and its agent ends with status 4', async (t) => {
  const agent = await fleet().addHealthyAgent();
  const { node } = agent;
  const command = await fleet().run('sleep 1000', { targeting: { type: 'nodes', node_ids: [node] } });
  await fleet().settled(command, ([one]) => one?.status === 'sent');

  const deleted = await settledAnswer(() => fleet().rest.call('DELETE', `/nodes/${node}`));

  t.is(deleted.status, 204);
  await until(
    'the end of the session',
    () => agent.program.output.includes('The admin revoked this node'),
    REVOKED_MS_MAX,
  );
  t.like((await fleet().settled(command))[0], { status: 'dropped', node_id: node, completed_at: null });
  t.is((await fleet().rest.call('GET', `/nodes/${node}`)).status, 404);
  t.deepEqual(await agent.program.ended(), { code: 4, signal: null });
});

test('an agent that lost its data is its node again by a recovery key, which works once', async (t) => {
  const agent = await fleet().addAgent();
  await agent.live();
  const { node } = agent;
  await fleet().reaches(agent, 'healthy');
  const { recovery_key: recovery } = await fleet().rest.post<{ recovery_key: string }>(`/nodes/${node}/recovery_key`);
  await agent.kill();
  const recover = async () => {
    rmSync(agent.dataDirectory, { recursive: true });
    agent.start({ ENROLLMENT_KEY: (await fleet().key()).key, RECOVERY_KEY: recovery });
  };

  await recover();
  await agent.live();

  t.is(agent.node, node);
  const [execution] = await fleet().settled(
    await fleet().run('echo back', { targeting: { type: 'nodes', node_ids: [node] } }),
  );
  t.like(execution, { status: 'completed', output: 'back\n' });
  await agent.kill();
  await recover();
  t.like(await agent.program.ended(), { code: 3 });
});

test('an agent whose node another machine has become by its recovery key ends what runs and exits with status 4', async (t) => {
  const agent = await fleet().addHealthyAgent();
  const { node } = agent;
  const command = await fleet().run('sleep 1000', { targeting: { type: 'nodes', node_ids: [node] } });
  const [execution] = await fleet().settled(command, ([one]) => one?.status === 'sent');
  const { recovery_key } = await fleet().rest.post<{ recovery_key: string }>(`/nodes/${node}/recovery_key`);

  const other = await fleet().addAgent({ ENROLLMENT_KEY: (await fleet().key()).key, RECOVERY_KEY: recovery_key });
  await other.live();

  t.is(other.node, node);
  t.deepEqual(await agent.program.ended(), { code: 4, signal: null });
  await processesGone(execution?.id ?? '');
  t.like((await fleet().settled(command))[0], { status: 'cancelled', exit_code: 137 });
});

test('a recovery whose answer was lost is answered again to the same machine, and to no other', async (t) => {
  const agent = await fleet().addAgent();
  await agent.live();
  const { node } = agent;
  const { recovery_key } = await fleet().rest.post<{ recovery_key: string }>(`/nodes/${node}/recovery_key`);
  const { key, id } = await fleet().key({ uses_remaining: 1 });
  await agent.kill();
  const body = {
    enrollment_key: key,
    recovery_key,
    node_id: node,
    id_type: 'persistent',
    version: '1.0.0',
    ports: PORTS,
    self_update_enabled: false,
  };
  const enrol = (more: object) =>
    settledAnswer(() =>
      fleet().rest.call<{ api_token: string }>('POST', '/agents/enroll', { body: { ...body, ...more } }),
    );

  const answers = [
    await enrol({ machine_secret: 'a'.repeat(43) }),
    await enrol({ machine_secret: 'a'.repeat(43) }),
    await enrol({ machine_secret: 'b'.repeat(43) }),
    await enrol({}),
  ];

  t.deepEqual(column(answers, 'status'), [201, 201, 409, 409]);
  t.not(answers[0]?.data?.api_token, answers[1]?.data?.api_token);
  t.like(await fleet().rest.get(`/enrollment_keys/${id}`), { uses_remaining: 0 });
});

test('a recovery key of a node that is gone ends the agent with a sentence, and makes no node', async (t) => {
  const gone = randomUUID();
  const { key, id } = await fleet().key({ uses_remaining: 1 });

  const agent = await fleet().addAgent({ ENROLLMENT_KEY: key, RECOVERY_KEY: `${gone}.a-secret-that-fits-nothing` });

  t.deepEqual(await agent.program.ended(), { code: 3, signal: null });
  t.regex(agent.program.output, /The recovery key fits no node/u);
  t.is((await fleet().rest.call('GET', `/nodes/${gone}`)).status, 404);
  t.like(await fleet().rest.get(`/enrollment_keys/${id}`), { uses_remaining: 1 });
});

test('a node moves to another cluster: its agent connects again, its recovery key is gone, and commands find it there', async (t) => {
  const agent = await fleet().addHealthyAgent();
  await fleet().rest.post('/clusters', { name: 'elsewhere' });
  await fleet().rest.post(`/nodes/${agent.node}/recovery_key`);

  const moved = await fleet().rest.post<NodeResource>(`/nodes/${agent.node}/change_cluster`, {
    cluster_name: 'elsewhere',
  });

  t.is(moved.cluster_name, 'elsewhere');
  const recoveryKey = `/nodes/${agent.node}/recovery_key`;
  t.is((await settledAnswer(() => fleet().rest.call('DELETE', recoveryKey))).status, 404);
  const [execution] = await fleet().settled(
    await fleet().run('echo there', { targeting: { type: 'clusters', cluster_names: ['elsewhere'] } }),
  );
  t.like(execution, { node_id: agent.node, cluster_name: 'elsewhere', status: 'completed', output: 'there\n' });
  t.deepEqual(
    (await fleet().sql<{ n: number }>('select name, node_count as n from cluster order by name')).map(({ n }) => n > 0),
    [true, true],
  );
});

test('an alias is taken once in a cluster, also by an agent that brings it along', async (t) => {
  const agent = await fleet().addAgent({ AGENT_ALIASES: 'rack-7' });
  await agent.live();
  const other = fleet().agents[0]?.node ?? '';

  const alias = { body: { name: 'rack-7' } };
  const taken = await settledAnswer(() => fleet().rest.call('POST', `/nodes/${other}/aliases`, alias));
  const free = await fleet().rest.post<AliasResource>(`/nodes/${other}/aliases`, { name: 'rack-8' });

  t.deepEqual([taken.status, taken.error?.code], [409, 'conflict']);
  t.is(free.vpn_hostname, `rack-8.${CLUSTER}.edge.internal`);
  t.deepEqual(column((await fleet().node(agent)).aliases, 'name'), ['rack-7']);
});

test('a machine that brings an alias which another one has joins without it, and says so', async (t) => {
  await (await fleet().addAgent({ AGENT_ALIASES: 'rack-9' })).live();

  const second = await fleet().addAgent({ AGENT_ALIASES: 'rack-9,rack-10' });
  await second.live();

  t.deepEqual(
    (await fleet().node(second)).aliases.map(({ name }) => name),
    ['rack-10'],
  );
  const warned = second.program
    .lines()
    .filter(({ level, msg }) => level === 'warn' && String(msg).startsWith('AGENT_ALIASES'))
    .map(({ msg }) => msg);
  t.deepEqual(warned, [
    `AGENT_ALIASES names what other machines of ${CLUSTER} have, or more than the 16 that one may have: rack-9. This one joined without; \`edge alias add ${second.node} NAME\` gives it another name`,
  ]);
});

test('anyone gets a public key, and an agent joins the default cluster with it', async (t) => {
  const anyone = restClient(() => fleet().admins[0]?.url ?? '', null);
  const { key } = await anyone.post<{ key: string }>('/clusters/default/enrollment_keys/public');

  const agent = await fleet().addAgent({ ENROLLMENT_KEY: key });
  await agent.live();

  t.is((await fleet().node(agent)).cluster_name, CLUSTER);
  t.is((await anyone.call('GET', '/nodes')).status, 401);
});
