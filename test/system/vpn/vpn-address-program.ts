/**
 * Run by vpn-address.test.ts in a network of its own: a fleet whose machine has an address of its cluster's VPN range.
 * Prints all that can be asked of it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { METRICS_SOURCES } from '../../../actors/resources/node-metrics.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { CLUSTER, FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { createScope } from '../../support/scope.ts';

const { connection, v6 } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly connection: TestConnection;
  readonly v6: string;
};
const scope = createScope();
try {
  const fleet = await startFleet(scope, { connection, admins: 1 });
  const { ipv4_range: range } = await fleet.rest.get<{ readonly ipv4_range: string }>(`/clusters/${CLUSTER}`);
  const v4 = range.replace(/\d+\/\d+$/u, '77');
  const device = interfaceOf();
  for (const words of [
    ['address', 'add', `${v4}/24`, 'dev', device],
    ['-6', 'address', 'add', `${v6}/64`, 'dev', device, 'nodad'],
    ['link', 'set', device, 'up'],
  ])
    execFileSync('ip', words);
  const agent = await fleet.addAgent({ LOG_LEVEL: 'info' });
  await agent.live();
  await fleet.reaches(agent, 'healthy');

  const url = `${fleet.admin().url}/api/v1`;
  const said: { readonly place: string; readonly text: string }[] = [];
  const paths = [
    ...METRICS_SOURCES.flatMap((source) => [
      `/nodes/${agent.node}/metrics/${source}/raw`,
      `/nodes/metrics/${source}/discovery`,
    ]),
    `/nodes/${agent.node}/metrics`,
    `/nodes/${agent.node}/metrics/host`,
    `/nodes/${agent.node}/metrics/agent`,
    '/admins/me/metrics/raw',
    '/admins/me/metrics',
    '/nodes',
    `/nodes/${agent.node}`,
    `/nodes/${agent.node}/diagnostics`,
    '/admins/me',
  ];
  for (const path of paths) {
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${FLEET_KEYS.MASTER_KEY}` } });
    said.push({ place: `${path} (${answer.status})`, text: await answer.text() });
  }
  said.push({ place: 'events', text: JSON.stringify(await fleet.sql('select data::text from event')) });
  for (const { runs } of [...fleet.admins, ...fleet.agents])
    for (const { output } of runs) said.push({ place: 'a log', text: output });
  const seen = execFileSync('ip', ['-brief', 'address']).toString();
  console.log(JSON.stringify({ v4, device, isThere: seen.includes(v4) && seen.includes(v6), said }));
} finally {
  await scope.end();
}

/** One of a kind that this kernel has; every kernel has the last. */
function interfaceOf(): string {
  for (const words of [
    ['link', 'add', 'edge0', 'type', 'dummy'],
    ['tuntap', 'add', 'edge0', 'mode', 'tun'],
    ['link', 'add', 'edge0', 'type', 'bridge'],
  ]) {
    if (spawnSync('ip', words).status === 0) return 'edge0';
  }
  return 'lo';
}
