/** Machines whose token is worth nothing any more: which of them join again by themselves, with real agents. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { TAKEN_BACK } from '../../../agent/session/endings.ts';
import { UNKNOWN_AGAIN_MS } from '../../../agent/session/refusals.ts';
import { RECONNECT_MS_MAX } from '../../../transport/protocol/limits.ts';
import { PORTS } from '../../support/actors.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';

const fleet = sharedFleet(test, { agents: 0 });

/**
 * From the loss of its token until an agent has joined again, in ms: RECONNECT_MS_MAX and UNKNOWN_AGAIN_MS, and as long
 * again for a busy machine.
 */
const REJOINED_MS_MAX = 2 * (RECONNECT_MS_MAX + UNKNOWN_AGAIN_MS);

test('an agent whose token goes to a late try of its own to enrol joins again by itself, and what runs there goes on', async (t) => {
  const { key, id } = await fleet().key({ uses_remaining: 1 });
  const agent = await fleet().addAgent({ ENROLLMENT_KEY: key });
  await agent.live();
  await fleet().reaches(agent, 'healthy');
  const { node } = agent;
  const goAhead = join(agent.dataDirectory, 'go-ahead');
  const command = await fleet().run(`while [ ! -e '${goAhead}' ]; do sleep 0.1; done; echo through`, {
    targeting: { type: 'nodes', node_ids: [node] },
  });
  await fleet().settled(command, ([one]) => one?.status === 'sent');
  const identity = readFileSync(join(agent.dataDirectory, 'identity.json'), 'utf8');
  const { machine_secret } = JSON.parse(identity) as { readonly machine_secret: string };
  const late = {
    enrollment_key: key,
    machine_secret,
    node_id: node,
    id_type: 'persistent',
    version: '1.0.0',
    ports: PORTS,
    self_update_enabled: false,
  };

  t.is((await settledAnswer(() => fleet().rest.call('POST', '/agents/enroll', { body: late }))).status, 201);

  await agent.program.logged(TAKEN_BACK);
  await until(
    'the node joined again',
    () => agent.program.output.includes('it has joined again with its ENROLLMENT_KEY'),
    REJOINED_MS_MAX,
  );
  writeFileSync(goAhead, '');
  t.like((await fleet().settled(command))[0], { node_id: node, status: 'completed', output: 'through\n' });
  t.is(agent.program.exit, null);
  t.like(await fleet().rest.get(`/enrollment_keys/${id}`), { uses_remaining: 0 });
});

test('a node that the database lost joins again by itself, under its id and its key; one that somebody deleted does not', async (t) => {
  const { key, id } = await fleet().key({ uses_remaining: 4 });
  const [lost, deleted] = [
    await fleet().addAgent({ ENROLLMENT_KEY: key }),
    await fleet().addAgent({ ENROLLMENT_KEY: key }),
  ];
  await Promise.all([lost.live(), deleted.live()]);
  const [lostNode, deletedNode] = [lost.node, deleted.node];
  await Promise.all([lost.kill(), deleted.kill()]);
  t.is((await settledAnswer(() => fleet().rest.call('DELETE', `/nodes/${deletedNode}`))).status, 204);
  await fleet().sql('delete from node where id = $1', [lostNode]); // as if it had joined after the dump

  for (const agent of [lost, deleted]) agent.start({ ENROLLMENT_KEY: key });

  await until(
    'the node joined again',
    () => lost.program.output.includes('it has joined again with its ENROLLMENT_KEY'),
    20_000,
  );
  await until(
    'the deleted one says so',
    () => deleted.program.output.includes('This node was deleted at the admin'),
    20_000,
  );
  const [execution] = await fleet().settled(
    await fleet().run('echo back', { targeting: { type: 'nodes', node_ids: [lostNode] } }),
  );
  t.like(execution, { node_id: lostNode, status: 'completed', output: 'back\n' });
  t.is((await fleet().rest.call('GET', `/nodes/${deletedNode}`)).status, 404);
  t.like(await fleet().rest.get(`/enrollment_keys/${id}`), { uses_remaining: 1 });
});

test('a node that came by its recovery key and that the database lost joins again by itself, though the key is still set', async (t) => {
  const agent = await fleet().addHealthyAgent();
  const { node } = agent;
  const { recovery_key } = await fleet().rest.post<{ recovery_key: string }>(`/nodes/${node}/recovery_key`);
  const { key } = await fleet().key({ uses_remaining: 2 });
  const settings = { ENROLLMENT_KEY: key, RECOVERY_KEY: recovery_key };
  await agent.kill();
  rmSync(agent.dataDirectory, { recursive: true });
  agent.start(settings);
  await agent.live();
  await agent.kill();
  await fleet().sql('delete from node where id = $1', [node]); // as if it had joined after the dump

  agent.start(settings);

  await until(
    'the node joined again',
    () => agent.program.output.includes('it has joined again with its ENROLLMENT_KEY'),
    20_000,
  );
  t.is((await fleet().rest.get<NodeResource>(`/nodes/${node}`)).id, node);
});
