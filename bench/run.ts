/**
 * `npm run bench -- CASE`: measures the product beside its floor and its peers. Figures and method:
 * docs/performance.md.
 */
import { parseArgs } from 'node:util';
import { adminMetrics } from './cases/admin-metrics.ts';
import { agent } from './cases/agent.ts';
import { brokers } from './cases/brokers.ts';
import { cli } from './cases/cli.ts';
import { connections } from './cases/connections.ts';
import { consolePages } from './cases/console.ts';
import { converge } from './cases/converge.ts';
import { exporters } from './cases/exporters.ts';
import { discovery } from './cases/discovery.ts';
import { failover } from './cases/failover.ts';
import { fanout } from './cases/fanout.ts';
import { fanoutWithBroker } from './cases/fanout-with-broker.ts';
import { fanoutWithTraces } from './cases/fanout-with-traces.ts';
import { feeds } from './cases/feeds.ts';
import { forward } from './cases/forward.ts';
import { gateway } from './cases/gateway.ts';
import { labels } from './cases/labels.ts';
import { liars } from './cases/liars.ts';
import { metered } from './cases/metered.ts';
import { list } from './cases/list.ts';
import { vpn } from './cases/vpn.ts';
import type { CaseOptions } from './cases/options.ts';
import { peers } from './cases/peers.ts';
import { scale } from './cases/scale.ts';
import { scrape } from './cases/scrape.ts';
import { sessions } from './cases/sessions.ts';
import { soak } from './cases/soak.ts';
import { ssh } from './cases/ssh.ts';
import { starts } from './cases/starts.ts';
import { sustained } from './cases/sustained.ts';
import { tunnel } from './cases/tunnel.ts';
import { updates } from './cases/updates.ts';
import { watch } from './cases/watch.ts';
import { webhooks } from './cases/webhooks.ts';
import { createReport } from './method/report.ts';

const CASES: Readonly<
  Record<string, { readonly about: string; readonly run: (options: CaseOptions) => Promise<void> }>
> = {
  fanout: { about: 'one command to every node, durable and confirmed', run: fanout },
  forward: { about: 'a call at an admin that has it done by the owner, beside the owner', run: forward },
  feeds: { about: 'what happens at one of three admins, in the feeds of all three', run: feeds },
  failover: { about: 'several admins of which one is killed, frozen, ended, added or drained', run: failover },
  sessions: { about: 'connecting, idling, and kill -9 of the admin', run: sessions },
  sustained: { about: 'independent commands, 256 in flight', run: sustained },
  watch: { about: 'live feeds: one change, and a storm', run: watch },
  peers: { about: 'beside clush, Ansible, NATS and MeshCentral', run: peers },
  agent: { about: 'an idle agent', run: agent },
  metered: { about: 'what an idle agent sends and receives in a day', run: metered },
  liars: { about: 'commands on honest machines beside three agents that lie', run: liars },
  updates: {
    about: 'a self-update request in four batches, and releases that crash, hang, cannot connect or lose the agent',
    run: updates,
  },
  list: { about: 'pages of long lists', run: list },
  scale: {
    about: 'fifty million events or executions: reads, writes and sweeps; a hundred thousand agents',
    run: scale,
  },
  cli: { about: 'edge node ls, from Enter to its end', run: cli },
  starts: { about: 'an admin and an agent of the published package, until they serve', run: starts },
  labels: { about: 'selectors of labels over a large fleet', run: labels },
  brokers: { about: 'events through each broker', run: brokers },
  'fanout-with-broker': { about: 'the same fan-out with a broker on, beside without', run: fanoutWithBroker },
  'fanout-with-traces': { about: 'the same fan-out with every trace recorded, beside without', run: fanoutWithTraces },
  webhooks: { about: 'events to healthy and dead webhooks', run: webhooks },
  tunnel: { about: "bytes through admin and agent, and through the agent's own proxy", run: tunnel },
  connections: { about: 'new proxied connections, and 2,000 open ones', run: connections },
  'admin-metrics': {
    about: "the admin's own metrics: a scrape with a whole fleet, and their rendering",
    run: adminMetrics,
  },
  exporters: { about: 'a scrape of a machine beside node_exporter', run: exporters },
  scrape: { about: 'a fleet scraped through the admin by Prometheus', run: scrape },
  discovery: { about: 'the complete list of targets of a large fleet', run: discovery },
  vpn: {
    about: 'bytes and echoes between two members, directly and relayed, beside bare WireGuard and a bare relay',
    run: vpn,
  },
  gateway: { about: "streams through the admin's gateway in a VPN, beside a tunnel", run: gateway },
  converge: { about: 'a new member of a VPN known to all: in frames, in a whole fleet, and by name', run: converge },
  soak: {
    about: 'memory of an admin that does not own the targets: an hour unless --seconds says otherwise',
    run: soak,
  },
  ssh: { about: "logins and copies beside OpenSSH's server", run: ssh },
  console: {
    about: 'pages in a browser: paint, frames while nodes change, storms, runs, long lists, and 1,000 open ones',
    run: consolePages,
  },
};

const USAGE = `npm run bench -- CASE [PART …] [--nodes N[,N…]] [--admins N] [--repeats N] [--seconds N] [--rate N] [--mib N] [--rows N] [--json] [--floor-only] [--install] [--profile DIR]

${Object.entries(CASES)
  .map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`)
  .join('\n')}

--nodes may be given several times. --admins spreads the fleet over so many. --install installs peers that are missing. --mib is the size of a transfer, --rows that of a database. --profile writes CPU profiles of the admin, and of the agent in cases of its own.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    nodes: { type: 'string', multiple: true, default: [] },
    admins: { type: 'string' },
    repeats: { type: 'string' },
    seconds: { type: 'string' },
    rate: { type: 'string' },
    mib: { type: 'string' },
    rows: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
    'floor-only': { type: 'boolean', default: false },
    install: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const chosen = CASES[positionals[0] ?? ''];
if (chosen === undefined || values.help) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(values.help ? 0 : 2);
}

// what runs is ended on exit
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const report = createReport(values.json);
try {
  await chosen.run({
    report,
    names: positionals.slice(1),
    nodes: values.nodes.flatMap((text) => text.split(',').map((part) => positive(part, '--nodes'))),
    admins: values.admins === undefined ? undefined : positive(values.admins, '--admins'),
    repeats: values.repeats === undefined ? undefined : positive(values.repeats, '--repeats'),
    seconds: values.seconds === undefined ? undefined : positive(values.seconds, '--seconds'),
    rate: values.rate === undefined ? undefined : positive(values.rate, '--rate'),
    mib: values.mib === undefined ? undefined : positive(values.mib, '--mib'),
    rows: values.rows === undefined ? undefined : positive(values.rows, '--rows'),
    floorOnly: values['floor-only'],
    install: values.install,
    profileDir: values.profile,
  });
} finally {
  report.end();
}

function positive(text: string, option: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  process.stderr.write(`${option} should be a whole number above 0, not "${text}"\n`);
  return process.exit(2);
}
