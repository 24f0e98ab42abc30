/**
 * The keys of releases were lost, and others sign from now on: what the line of the installation does on machines then.
 */
import { hash } from 'node:crypto';
import { hangAfter } from '../../support/busy.ts';
import { CLUSTER } from '../../support/fleet.ts';
import { nodeIn, startInstallingFleet } from '../../support/installing/installing-fleet.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('root', 'debian-root');

test('after the release keys were lost the line refuses; after an uninstallation the same node trusts the new root', async (t) => {
  t.timeout(hangAfter(300_000));
  const { fleet, line: lineOf, machine: machineOf, publish } = await startInstallingFleet(t);
  const machine = await machineOf(t);
  const line = await lineOf(CLUSTER);
  const root = () => machine.read('/var/lib/edge-updater/trust/root.json');
  const installed = await machine.run(line);
  const before = root();
  await fleet.sql('delete from release_metadata'); // as edge-admin forget-releases does
  await fleet.sql('delete from release_target');
  const published = await publish();
  await until('the script tells of it', async () =>
    (await (await fetch(`${fleet.admin().url}/install.sh`)).text()).includes(hash('sha256', published.root)),
  );

  const again = await machine.run(line);
  const kept = root();
  const removed = await machine.run(`${line} --uninstall`);
  const back = await machine.run(line);
  const trusted = root();
  const repaired = await machine.run(`edge-agentctl stop updater && rm /var/lib/edge-updater/current && ${line}`);

  t.regex(installed.stdout, /healthy after/u, installed.stderr);
  t.regex(
    again.stderr,
    /^The programs are there: edge-agent 0\.2\.0\. They take no release of this admin, as this machine trusts another root of releases: .* --uninstall first/mu,
  );
  t.regex(again.stdout, /healthy after/u, again.stderr);
  t.is(kept, before);
  t.is(removed.status, 0, removed.stderr);
  t.is(nodeIn(back.stdout), nodeIn(installed.stdout), back.stderr);
  t.is(trusted, published.root);
  t.is(nodeIn(repaired.stdout), nodeIn(installed.stdout), repaired.stderr);
});
