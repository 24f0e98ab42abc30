/** Nodes with random ids that were unreachable when their admin went away for long, with a real agent. */
import test from 'ava';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, {
  agents: 0,
  env: { NODE_UNREACHABLE_AFTER_MS: '1s', RANDOM_NODE_FORGET_AFTER_MS: '1h' },
});

test('a node that was unreachable before its admin was away for long is not deleted before its agent could come back', async (t) => {
  const agent = await fleet().addAgent({ AGENT_ID_TYPE: 'random' });
  await agent.live();
  agent.program.pause();
  await fleet().reaches(agent, 'unreachable');
  const [admin] = fleet().admins;
  await admin?.kill();
  await fleet().sql(
    `update node set status_since = now() - interval '2 hours', last_seen_at = now() - interval '2 hours'`,
  );
  await admin?.start();

  // Two of the sweeps that come as often: the one for such nodes has looked in between.
  for (let round = 0; round < 2; round += 1) await dropped();

  agent.program.resume();
  await fleet().reaches(agent, 'healthy');
  t.pass();
});

/** Stores an execution of no node, and resolves once a sweep has found it. */
async function dropped(): Promise<void> {
  const [row] = await fleet().sql<{ id: string }>(`with made as (
      insert into command (id, command_text, targeting, inserted_at, updated_at) values (gen_random_uuid(), 'x', '{"type":"all"}', now(), now()) returning id)
    insert into command_execution (id, command_id, node_id, cluster_name, target_all, inserted_at, updated_at) select gen_random_uuid(), id, gen_random_uuid(), 'fleet', true, now(), now() from made returning id`);
  await until(
    'the sweep for executions of no node',
    async () =>
      (await fleet().sql(`select from command_execution where id = $1 and status = 'dropped'`, [row?.id])).length > 0,
  );
}
