/** The whole way: a release is published at an admin, a request is made there, and a real machine is updated by it. */
import { join } from 'node:path';
import test from 'ava';
import { createClient } from '../../../cli/service/client.ts';
import { publishRepository } from '../../../cli/release/publish.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { createReleases } from '../../support/releases/releases.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { realBundles } from '../../support/updater/real-bundles.ts';
import { realMachine } from '../../support/updater/real-machine.ts';
import { until } from '../../support/until.ts';
import { resultsOf } from './fixture.ts';

/** A release cannot connect when it asks for a session where there is none. */
const broken = (agent: string) => agent.replaceAll('/api/v1/agents/session', '/api/v1/agents/nowhere');

test('what is published and requested at an admin is installed, and taken back where it is broken', async (t) => {
  const directory = temporaryDirectory(t);
  const [fleet, bundles] = await Promise.all([startFleet(t), realBundles(directory)]);
  const { url, dialledUrl } = fleet.admin();
  const releases = await createReleases(join(directory, 'releases'));
  const connection = { url, key: FLEET_KEYS.API_KEY };
  const publish = async (version: string, change = (text: string) => text) => {
    const files = bundles(version);
    await releases.add({ version, files: { ...files, 'edge-agent.cjs': change(files['edge-agent.cjs']) } });
    await releases.promote(version);
    await publishRepository(releases.repository, { api: createClient(connection), connection });
  };
  await publish('0.1.1');
  const machine = await realMachine(t, {
    directory: join(directory, 'machine'),
    installer: join(directory, 'edge-updater.cjs'),
    root: releases.root,
    agentEnv: { ENROLLMENT_KEY: (await fleet.key()).key, ADMIN_URLS: dialledUrl },
    updaterEnv: { UPDATER_ADMIN_URLS: dialledUrl },
  });
  await machine.connected('0.1.1');
  const node = () => fleet.rest.get<{ status: string; version: string }>(`/nodes/${machine.node()}`);
  const requested = async (status: string) => {
    await until('a healthy node', async () => (await node()).status === 'healthy');
    const request = await fleet.rest.post<{ id: string }>('/self_update_requests', {
      targeting: { type: 'all' },
      batch_size: 1,
      health_timeout: 120,
    });
    return until(
      status,
      async () => {
        const [result] = [...(await resultsOf(fleet, request)).values()];
        if (result?.status !== status)
          throw new Error(`it is ${JSON.stringify(result)}; ${machine.updater.output.slice(-1_500)}`);
        return result;
      },
      90_000,
    );
  };

  await publish('0.1.2');
  const updated = await requested('updated');
  await publish('0.2.0', broken);
  const taken = await requested('rolled_back');

  t.like(updated, { node_id: machine.node(), from_version: '0.1.1', to_version: '0.1.2', error: null });
  t.like(taken, { from_version: '0.1.2', to_version: '0.2.0' });
  t.regex(taken.error ?? '', /not well within 20 s: the agent is not connected to an admin/u);
  t.is((await node()).version, '0.1.2');
});
