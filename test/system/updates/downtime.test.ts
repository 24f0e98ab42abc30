/** The real agent, updated by the real updater below a real admin: by the launcher, from a mirror. */
import { join } from 'node:path';
import test from 'ava';
import { scaled } from '../../support/busy.ts';
import { startFleet } from '../../support/fleet.ts';
import { mirrorReleases } from '../../support/releases/release-mirror.ts';
import { createReleases } from '../../support/releases/releases.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { realBundles } from '../../support/updater/real-bundles.ts';
import { realMachine } from '../../support/updater/real-machine.ts';
import { until } from '../../support/until.ts';

/** More for figures: EDGE_TEST_UPDATES=20 tells how long the agent was away. */
const UPDATES = Number(process.env['EDGE_TEST_UPDATES'] ?? 2);

test('an agent and its updater are updated, and come back from a version that cannot connect', async (t) => {
  const directory = temporaryDirectory(t);
  const [fleet, bundles] = await Promise.all([startFleet(t), realBundles(directory)]);
  const releases = await createReleases(join(directory, 'releases'));
  const mirror = await mirrorReleases(t, releases.directory);
  const publish = async (version: string, change = (text: string) => text) => {
    const files = bundles(version);
    await releases.add({ version, files: { ...files, 'edge-agent.cjs': change(files['edge-agent.cjs']) } });
    await releases.promote(version);
  };
  await publish('0.1.1');
  const machine = await realMachine(t, {
    directory: join(directory, 'machine'),
    installer: join(directory, 'edge-updater.cjs'),
    root: releases.root,
    agentEnv: { ENROLLMENT_KEY: (await fleet.key()).key, ADMIN_URLS: fleet.admin().dialledUrl },
    updaterEnv: { UPDATER_MIRRORS: mirror.url, UPDATER_ADMIN_URLS: fleet.admin().dialledUrl },
  });
  await machine.connected('0.1.1');
  const awayMs: number[] = [];

  for (let number = 2; number < 2 + UPDATES; number += 1) {
    await publish(`0.1.${number}`);
    const outcome = await machine.update();
    t.like(outcome, { outcome: 'updated', from: `0.1.${number - 1}`, to: `0.1.${number}`, error: null });
    awayMs.push(outcome.away_ms ?? Number.NaN);
    // the next updater is the one of this version
    await until('the next updater', () => machine.updater.starts === number);
    await until('its answer', async () => (await machine.call('GET', '/livez').catch(() => null))?.status === 200);
  }
  const last = `0.1.${1 + UPDATES}`;
  const sorted = awayMs.toSorted((a, b) => a - b);
  t.log(`away for ${sorted.join(', ')} ms`);
  t.true(
    sorted.every((ms) => ms < scaled(5_000)),
    sorted.join(),
  );
  await publish('0.2.0', (text) => text.replaceAll('/api/v1/agents/session', '/api/v1/agents/nowhere'));
  const broken = await machine.update();

  t.like(broken, { outcome: 'rolled_back', from: last, to: '0.2.0' });
  t.regex(broken.error ?? '', /not well within 20 s: the agent is not connected to an admin/u);
  await machine.connected(last);
  t.is((await fleet.rest.get<{ version: string }>(`/nodes/${machine.node()}`)).version, last);
});
