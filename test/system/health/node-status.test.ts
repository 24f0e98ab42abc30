/**
 * The status of nodes with real admins and agents that are killed, frozen and started again: one event a real change
 * (V1), none for what happened to an admin, and a reason that every admin shows.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { AGENT_RETURN_MS_MAX } from '../../../actors/node/reachability.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { scaled } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import type { AgentProgram } from '../../support/fleet/agent-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { freeze } from '../../support/frozen.ts';
import { until } from '../../support/until.ts';

/** Agents notice that an admin is silent after 20 s, try it once more for 10 s, and wait at most 30 s in between. */
const BACK_MS_MAX = 90_000;

/** So short that every false alarm would be told at once. */
const env = { NODE_UNREACHABLE_AFTER_MS: '1000' };

/** Every change of a node's status that was told, in the order of its telling. */
async function changesOf(fleet: Fleet, { node }: Pick<AgentProgram, 'node'>): Promise<readonly string[]> {
  const rows = await fleet.sql<{ change: string }>(
    `select (data->>'previous_status') || ' → ' || (data->>'status') as change from event where type = 'edge.node.status_changed' and subject = $1 order by seq`,
    [node],
  );
  return rows.map(({ change }) => change);
}

/** How often the agent has come to be connected. */
function connections({ program }: AgentProgram): number {
  return program.lines().filter((line) => line['msg'] === 'Connected').length;
}

async function backAgain(agent: AgentProgram, before: number): Promise<void> {
  await until('the agent to be back', () => connections(agent) > before, BACK_MS_MAX);
}

/** The silence that is allowed where an admin stands still, in ms: longer than it takes to make it stand still. */
const SILENCE_MS = scaled(2_000);

/** Longer than that, than a reminder may be late and than a clock may jump, in ms. */
const STALL_MS = SILENCE_MS + 6_000;

/** Longer than the silence, and shorter than agents may take to come back, in ms. */
const AWAY_MS = 2 * SILENCE_MS;

const read = (admin: AdminProgram, { node }: AgentProgram) =>
  restClient(() => admin.url, FLEET_KEYS.MASTER_KEY).get<NodeResource>(`/nodes/${node}`);

/** The node as this admin shows it, once it has this status. */
const readAs = (status: NodeResource['status'], admin: AdminProgram, agent: AgentProgram, msMax?: number) =>
  until(
    status,
    async () => {
      const node = await read(admin, agent);
      return node.status === status ? node : null;
    },
    msMax,
  );

/** Once this admin shows the node like this, but for when it was last seen. */
const shows = (admin: AdminProgram, agent: AgentProgram, wanted: NodeResource) =>
  until(`${admin.name} to show the node so`, async () => {
    const now = await read(admin, agent);
    if (isDeepStrictEqual({ ...now, last_seen_at: wanted.last_seen_at }, wanted)) return true;
    throw new Error(JSON.stringify(now));
  });

test('why a node is as it is: every admin shows the same, also the next owner, and one change is one event', async (t) => {
  const fleet = await startFleet(t, { admins: 2, env });
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => {
    taken.close();
  });
  const port = (taken.address() as AddressInfo).port;
  const agent = await fleet.addAgent({ AGENT_SSH_PORT: String(port) });
  await agent.live();
  const { owner, other } = await ownership(fleet);

  const ill = await readAs('unhealthy', owner, agent);
  t.regex(ill.status_reason ?? '', new RegExp(`^ssh: .*port ${port}: another program`, 'u'));
  t.is(ill.status_evidence?.services[0]?.name, 'ssh');
  t.not(ill.status_evidence?.session, null);
  await shows(other, agent, ill);

  const before = connections(agent);
  await owner.kill();
  await until('a new owner', async () => (await ownership(fleet)).owner === other);
  await backAgain(agent, before);
  await shows(other, agent, ill);

  await agent.kill();
  const gone = await readAs('unreachable', other, agent);
  t.regex(gone.status_reason ?? '', /^Nothing heard since 20\d\d-.*Z$/u);
  t.is(gone.status_evidence?.session, null);
  t.true(gone.status_since > ill.status_since);

  agent.start();
  const well = await readAs('healthy', other, agent);
  t.like(well, { status_reason: null, status_evidence: { services: [] } });
  t.deepEqual(await changesOf(fleet, agent), [
    'unreachable → unhealthy',
    'unhealthy → unreachable',
    'unreachable → healthy',
  ]);
});

test('an owner that freezes and wakes: its agents go to the other admin, and nobody tells of a change', async (t) => {
  const fleet = await startFleet(t, { admins: 2, agents: 2, env });
  const { owner, other } = await ownership(fleet);
  const before = fleet.agents.map(connections);

  await freeze(owner.program);
  await until('a new owner', async () => (await ownership(fleet)).owner === other);
  await Promise.all(fleet.agents.map((agent, index) => backAgain(agent, before[index] ?? 0)));
  owner.program.resume();
  await owner.program.logged('a cluster is not owned by this admin any more');

  for (const agent of fleet.agents) {
    await readAs('healthy', owner, agent);
    t.deepEqual(await changesOf(fleet, agent), ['unreachable → healthy']);
  }
});

test('agents that vanish just before or amid a stall of their admin and return in seconds are never unreachable', async (t) => {
  const fleet = await startFleet(t, { env: { NODE_UNREACHABLE_AFTER_MS: String(SILENCE_MS) } });
  const [admin] = fleet.admins as [AdminProgram];
  const nodes = [await enrollRaw(t, fleet), await enrollRaw(t, fleet)] as const;
  const [before, meanwhile] = await Promise.all(nodes.map((node) => node.connect()));

  before?.cut();
  await fleet.rest.get('/nodes'); // its end is read before this
  await freeze(admin.program);
  meanwhile?.send({ type: 'ping' }); // read as if it were said after the stall
  meanwhile?.cut();
  await delay(STALL_MS);
  admin.program.resume();
  await delay(AWAY_MS);
  await Promise.all(nodes.map((node) => node.connect()));

  for (const { node_id: node } of nodes) t.deepEqual(await changesOf(fleet, { node }), ['unreachable → healthy']);
});

test('no node changes as the only admin freezes or is killed, but one that is gone meanwhile does, once', async (t) => {
  const fleet = await startFleet(t, { agents: 2, env });
  const [admin] = fleet.admins as [AdminProgram];
  const [staying, leaving] = fleet.agents as [AgentProgram, AgentProgram];

  await freeze(admin.program);
  await until(
    'the agents to give up',
    () => fleet.agents.every(({ program }) => program.lines().some((line) => line['reason'] === 'silence')),
    BACK_MS_MAX,
  );
  admin.program.resume();
  await Promise.all(fleet.agents.map((agent) => backAgain(agent, 1)));
  for (const agent of fleet.agents) t.deepEqual(await changesOf(fleet, agent), ['unreachable → healthy']);

  const before = connections(staying);
  await admin.kill();
  await leaving.kill();
  await admin.start();
  await backAgain(staying, before);
  await readAs('unreachable', admin, leaving, AGENT_RETURN_MS_MAX + 30_000);

  t.deepEqual(await changesOf(fleet, leaving), ['unreachable → healthy', 'healthy → unreachable']);
  t.deepEqual(await changesOf(fleet, staying), ['unreachable → healthy']);
});
