/** Nodes with random ids whose agents are gone, with real agents. */
import test from 'ava';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, {
  agents: 0,
  env: { NODE_UNREACHABLE_AFTER_MS: '1s', RANDOM_NODE_FORGET_AFTER_MS: '2s' },
});

/** Silence of 20 s, the setting, two looks of 5 s each, and room for a busy machine, in ms. */
const FORGOTTEN_MS_MAX = 60_000;

test('nodes with random ids unseen for long are deleted with what they had open; a returning agent joins again', async (t) => {
  const { key } = await fleet().key({ uses_remaining: 5 });
  const added = (idType: string) => fleet().addAgent({ AGENT_ID_TYPE: idType, ENROLLMENT_KEY: key });
  const [gone, away, persistent, there] = [
    await added('random'),
    await added('random'),
    await added('persistent'),
    await added('random'),
  ];
  await Promise.all([gone, away, persistent, there].map((agent) => agent.live()));
  const nodes = [gone, away, persistent, there].map(({ node }) => node);
  const command = await fleet().run('sleep 1000', {
    targeting: { type: 'nodes', node_ids: [gone.node, persistent.node] },
  });
  await fleet().settled(
    command,
    (executions) => executions.length === 2 && executions.every(({ status }) => status === 'sent'),
  );
  const found = async () =>
    Promise.all(nodes.map(async (node) => (await fleet().rest.call('GET', `/nodes/${node}`)).status));

  away.program.pause();
  await Promise.all([gone.kill(), persistent.kill()]);

  await until(
    'both are forgotten',
    async () => (await found()).slice(0, 2).every((status) => status === 404),
    FORGOTTEN_MS_MAX,
  );
  t.deepEqual(await found(), [404, 404, 200, 200]);
  const executions = await fleet().executionsOf(command);
  t.deepEqual(
    nodes.map((node) => executions.find(({ node_id }) => node_id === node)?.status),
    ['dropped', undefined, 'sent', undefined],
  );
  t.deepEqual(
    await fleet().sql('select node_count, (select count(*)::int from deleted_node) as deleted from cluster'),
    [{ node_count: 2, deleted: 0 }],
  );

  away.program.resume();
  await until(
    'it joined again',
    () => away.program.output.includes('it has joined again with its ENROLLMENT_KEY'),
    FORGOTTEN_MS_MAX,
  );
  const [execution] = await fleet().settled(
    await fleet().run('echo back', { targeting: { type: 'nodes', node_ids: [away.node] } }),
  );
  t.like(execution, { node_id: nodes[1], status: 'completed', output: 'back\n' });
});
