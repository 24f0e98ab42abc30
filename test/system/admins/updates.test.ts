/** Self-updates with several admins: whoever is killed meanwhile, each node is triggered once, and the request ends. */
import test, { type ExecutionContext } from 'ava';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { taskHolder } from '../../support/fleet/task-holder.ts';
import { NEW, type UpdatingAgent } from '../../support/fleet/updating-agent.ts';
import { until } from '../../support/until.ts';
import type { SelfUpdateRequestResource } from '../../../actors/resources/self-update.ts';
import { agentsOf, eventsOf } from '../updates/fixture.ts';

/** A lease and a look for free ones, and what a busy machine adds, in ms. */
const TAKEN_OVER_MS_MAX = 60_000;

/** Two admins, agents of the owner, and a way to ask each. */
async function start(t: ExecutionContext, agents: number) {
  const fleet = await startFleet(t, { admins: 2 });
  const { owner, other } = await ownership(fleet);
  const first = fleet.admins[0];
  const at = { ...fleet, admins: [owner], rest: restClient(() => owner.url, FLEET_KEYS.MASTER_KEY) } as Fleet;
  t.truthy(first);
  const updating = await agentsOf(
    t,
    at,
    Array.from({ length: agents }, () => 'silent' as const),
  );
  return { fleet, owner, other, agents: updating };
}

const askAt = (admin: AdminProgram) => restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);

function create(admin: AdminProgram, agents: readonly UpdatingAgent[], more: object = {}) {
  const targeting = { type: 'nodes', node_ids: agents.map(({ node }) => node) };
  return askAt(admin).post<SelfUpdateRequestResource>('/self_update_requests', { targeting, ...more });
}

function completedAt(admin: AdminProgram, { id }: { readonly id: string }) {
  return until(
    'the request is completed',
    async () => {
      const request = await askAt(admin).get<SelfUpdateRequestResource>(`/self_update_requests/${id}`);
      return request.status === 'completed' && request;
    },
    TAKEN_OVER_MS_MAX,
  );
}

test('a request that is asked of an admin which owns nothing reaches the nodes of the owner, and ends', async (t) => {
  const { fleet, other, agents } = await start(t, 3);
  for (const agent of agents) agent.updater = 'updates';

  const request = await create(other, agents, { batch_size: 1 });
  const { summary } = await completedAt(other, request);

  t.deepEqual(summary, { total: 3, triggered: 3, failed: 0 });
  t.deepEqual(
    agents.map(({ asked, version }) => [asked.length, version]),
    agents.map(() => [1, NEW]),
  );
  t.is((await eventsOf(fleet, [request.id])).length, 1);
});

test('after a kill between turn and trigger the new owner asks again, unhealthy nodes too, and triggers each once', async (t) => {
  const { fleet, owner, other, agents } = await start(t, 3);
  const request = await create(other, agents);
  await until('all are asked', () => agents.every(({ asked }) => asked.length === 1));

  await owner.kill();
  await until('another admin owns them', async () => (await ownership(fleet)).owner === other, TAKEN_OVER_MS_MAX);
  const moved = agents.map((agent) => agent.movedTo(() => other.url));
  for (const [index, agent] of moved.entries()) {
    agent.updater = 'takes';
    agent.isHealthy = index > 0; // its updater may have taken the signal of the owner before
    await until('it is welcomed', () => agent.connect().then(() => true), TAKEN_OVER_MS_MAX);
  }
  const { summary } = await completedAt(other, request);

  t.deepEqual(summary, { total: 3, triggered: 3, failed: 0 });
  t.deepEqual(await eventsOf(fleet, [request.id, ...agents.map(({ node }) => node)]), [
    ...agents.map(() => 'edge.node.update_triggered'),
    'edge.self_update_request.completed',
  ]);
});

test('whoever moves requests is killed: another admin goes on, and no node is asked twice', async (t) => {
  const { fleet, agents } = await start(t, 4);
  for (const agent of agents) agent.updater = 'takes';
  const moving = await taskHolder(fleet, 'self-updates');
  const left = fleet.admins.find((admin) => admin !== moving) as AdminProgram;
  const request = await create(left, agents, { batch_size: 1, health_timeout: 1 });
  await until('the first is triggered', () => agents.some(({ asked }) => asked.length === 1));

  await moving.kill();
  await until('another admin owns them', async () => (await ownership(fleet)).owner === left, TAKEN_OVER_MS_MAX);
  const moved = agents.map((agent) => agent.movedTo(() => left.url));
  for (const agent of moved) await until('it is welcomed', () => agent.connect().then(() => true), TAKEN_OVER_MS_MAX);
  const { summary } = await completedAt(left, request);

  t.is(summary?.total, 4);
  const events = await eventsOf(fleet, [request.id, ...agents.map(({ node }) => node)]);
  t.is(events.filter((type) => type === 'edge.node.update_triggered').length, summary?.triggered ?? 0);
  t.is(events.at(-1), 'edge.self_update_request.completed');
  t.is(await taskHolder(fleet, 'self-updates'), left);
});
