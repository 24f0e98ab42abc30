/** A whole update by real programs: an admin, an agent with a command that runs, and an updater that restarts it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import manifest from '../../../package.json' with { type: 'json' };
import type { SelfUpdateRequestResource } from '../../../actors/resources/self-update.ts';
import { agentBundle } from '../../support/agent/agent-bundle.ts';
import { UpdaterDouble } from '../../support/agent/updater-double.ts';
import { hangAfter } from '../../support/busy.ts';
import { startFleet } from '../../support/fleet.ts';
import { FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { Program } from '../../support/fleet/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { completed, eventsOf, resultsOf } from './fixture.ts';

/** The version that the updater brings. */
const NEXT = '9.9.9';

test('a node is triggered once, its command runs on, and it is updated when the new version is back', async (t) => {
  t.timeout(hangAfter(180_000));
  const updater = await UpdaterDouble.start(t);
  const fleet = await startFleet(t, { agents: 1, agentEnv: updater.settings() });
  const [agent] = fleet.agents;
  if (agent === undefined) throw new Error('there is no agent');
  const { node, dataDirectory } = agent;
  const request = (): Promise<SelfUpdateRequestResource> =>
    fleet.rest.post('/self_update_requests', { targeting: { type: 'nodes', node_ids: [node] } });
  const result = async (of: SelfUpdateRequestResource) => (await resultsOf(fleet, of)).get(node);
  const healthy = () =>
    until(
      'a healthy node',
      async () => (await fleet.rest.get<{ status: string }>(`/nodes/${node}`)).status === 'healthy',
    );
  const go = join(temporaryDirectory(t), 'go');
  await healthy();
  const command = await fleet.run(`seq 1000; while [ ! -e ${go} ]; do sleep 0.1; done; seq 1000`);
  await until(
    'that it runs',
    async () =>
      (await fleet.rest.get<readonly { status: string }[]>(`/command_executions?command_id__in=${command.id}`))[0]
        ?.status === 'sent',
  );

  const first = await request();
  const over = await completed(fleet, first);

  t.deepEqual(over.summary, { total: 1, triggered: 1, failed: 0 });
  t.like(await result(first), { status: 'triggered', from_version: manifest.version, error: null });
  t.deepEqual(
    updater.of('/v1/update').map(({ request: named }) => named),
    [first.id],
  );

  // What an updater does next: it says so, and ends the agent for the new version.
  writeFileSync(
    join(dataDirectory, 'updating.json'),
    JSON.stringify({ from: manifest.version, to: NEXT, until: Date.now() + 60_000 }),
  );
  updater.replies = {
    '/v1/update': () => ({ status: 500, body: { error: 'no room on the disk' } }),
    '/v1/outcome': () => ({
      status: 200,
      body: { request: first.id, outcome: 'updated', from: manifest.version, to: NEXT, error: null },
    }),
  };
  const file = pathToFileURL(await agentBundle(t, NEXT));
  agent.program.terminate();
  await agent.program.ended();
  const next = Program.start(t, file, ['up'], { AGENT_DATA_DIR: dataDirectory, ...FREE_PORTS, ...updater.settings() });
  await next.logged('Connected');
  writeFileSync(go, '');

  const [execution] = await fleet.settled(command);
  t.like(execution, { status: 'completed', exit_code: 0 });
  t.is(execution?.output, Array.from({ length: 2_000 }, (_, line) => `${(line % 1_000) + 1}\n`).join(''));
  await until('its update', async () => (await result(first))?.status === 'updated');
  t.like(await result(first), { from_version: manifest.version, to_version: NEXT, error: null });

  await healthy();
  const second = await request();
  await completed(fleet, second);
  t.is((await result(second))?.status, 'failed');
  t.regex((await result(second))?.error ?? '', /failed \(500\), and says: no room on the disk: look into its log$/u);
  t.deepEqual(await eventsOf(fleet, [first.id, second.id, node]), [
    'edge.node.update_triggered',
    'edge.self_update_request.completed',
    'edge.self_update_request.completed',
  ]);
});
