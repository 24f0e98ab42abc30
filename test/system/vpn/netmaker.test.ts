/**
 * A real admin and real agents with a Netmaker: the server is a stand-in, and so is netclient, which registers there as
 * the real one does.
 */
import test from 'ava';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { leaksIn } from '../../support/canary.ts';
import { CLUSTER, startFleet } from '../../support/fleet.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { startFakeNetmaker } from '../../support/netmaker/netmaker.ts';
import { MODERN } from '../../support/netmaker/quirks.ts';
import { until } from '../../support/until.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Networks may take a minute to be looked at without being told, and this machine is slow at times. */
const DEADLINE_MS = 150_000;

test('machines enter, move between and leave Netmaker networks, also across an outage, and no secret is logged', async (t) => {
  t.timeout(hangAfter(900_000));
  const netmaker = await startFakeNetmaker(t, { ...MODERN, domain: 'edge.internal' });
  const bin = temporaryDirectory(t);
  await writeFile(
    join(bin, 'netclient'),
    `#!/bin/sh
[ "$1" = join ] || exit 0
exec '${process.execPath}' -e 'const [token, name] = process.argv.slice(1); fetch("${netmaker.url}/api/v1/host/register/" + encodeURIComponent(token), { method: "POST", body: JSON.stringify({ id: "host-of-" + name, name }) }).then((answer) => process.exit(answer.ok ? 0 : 1));' "$3" "$5"
`,
  );
  await chmod(join(bin, 'netclient'), 0o755);
  const fleet = await startFleet(t, {
    agents: 2,
    env: { EDGE_VPN_API_URL: netmaker.url, EDGE_VPN_MASTER_KEY: netmaker.masterKey, ADMIN_OBSERVER_PORT: '' },
    agentEnv: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, VPN_ENABLED: 'true', VPN_DNS: 'off' },
  });
  const [first, second] = fleet.agents.map((agent) => agent.node) as [string, string];
  const is = (what: string, networks: object): Promise<unknown> =>
    until(
      what,
      () => {
        const now = JSON.stringify(netmaker.state().networks);
        if (now !== JSON.stringify(networks))
          throw new Error(`they are ${now}; the admin says ${fleet.admin().program.output.slice(-2_000)}`);
        return true;
      },
      DEADLINE_MS,
    );
  const network = (cluster: string, names: Readonly<Record<string, string>>) => ({
    [`cluster-${cluster}`]: {
      hosts: [...new Set(Object.values(names))].toSorted(),
      names: Object.fromEntries(
        Object.entries(names)
          .map(([name, host]) => [`${name}.${cluster}`, host] as const)
          .toSorted(([one], [other]) => (one < other ? -1 : 1)),
      ),
    },
  });
  const [one, two] = [`node-${first}`, `node-${second}`];

  await is('both members', network(CLUSTER, { [one]: one, [two]: two }));
  await fleet.rest.post(`/nodes/${first}/aliases`, { name: 'db' });
  await fleet.rest.post('/clusters', { name: 'annex' });
  await is('the alias and the second network', {
    ...network('annex', {}),
    ...network(CLUSTER, { [one]: one, db: one, [two]: two }),
  });

  netmaker.fault = () => 'cut';
  const beganMs = performance.now();
  const moved = await fleet.rest.post<NodeResource>(`/nodes/${first}/change_cluster`, { cluster_name: 'annex' });
  t.true(performance.now() - beganMs < scaled(15_000), 'the answer does not wait for Netmaker');
  t.is(moved.cluster_name, 'annex');
  await until(
    'the admin to say so',
    () => fleet.admin().program.output.includes('Netmaker did not answer'),
    DEADLINE_MS,
  );
  t.is((await fleet.sql('select 1 from mesh_move')).length, 1);
  netmaker.fault = () => null;
  await is('the move', { ...network('annex', { [one]: one, db: one }), ...network(CLUSTER, { [two]: two }) });
  await until(
    'the end of the move',
    async () => (await fleet.sql('select 1 from mesh_move')).length === 0,
    DEADLINE_MS,
  );

  const addresses = [...netmaker.addressesOf('cluster-annex'), ...netmaker.addressesOf(`cluster-${CLUSTER}`)];
  const answers = await Promise.all(
    ['/nodes', '/clusters', '/aliases', '/admins/my_admin_cluster', `/nodes/${first}`].map(
      async (path) => (await fleet.rest.call('GET', path)).text,
    ),
  );
  const health = await (await fetch(`${fleet.admin().url}/healthz`)).text();
  const tables = JSON.stringify([await fleet.sql('select * from event'), await fleet.sql('select * from node')]);
  await settledAnswer(() => fleet.rest.call('DELETE', `/nodes/${second}`));
  await is('the host of the deleted node to be gone', {
    ...network('annex', { [one]: one, db: one }),
    ...network(CLUSTER, {}),
  });
  await until('the host itself to be gone', () => String(netmaker.state().hosts) === one, DEADLINE_MS);

  const said = [
    ...answers,
    health,
    tables,
    ...fleet.admins.flatMap((admin) => admin.runs.map((run) => run.output)),
    ...fleet.agents.flatMap((agent) => agent.runs.map((run) => run.output)),
  ].join('\n');
  t.deepEqual(leaksIn('everything', said, [{ name: 'master key', value: netmaker.masterKey }]), []);
  for (const address of addresses) t.false(said.includes(address), 'an address of a member was told');
  t.false(said.includes('host-of-'), 'the id of a host was told');
  t.false(/eyJzZXJ2ZXIi/u.test(said), 'an enrolment token was told');
});
