/**
 * A program for a network of its own, in which an admin and its clients are; an agent has another, and a neighbour of
 * the agent a third, to which there is no way but through the agent. Prints what real clients got, as JSON. Takes the
 * connection of a database.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ProxyAgent, request } from 'undici';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { enrollmentIn, FREE_PORTS } from '../../support/fleet/agent-program.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { Program } from '../../support/fleet/program.ts';
import { createScope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';
import { cable, ownNetwork, inNetworkOf } from '../../support/networks/cable.ts';
import { allow, FORWARD, wordsTo } from '../../support/net/reach-fixture.ts';
import { startClient } from '../../support/ssh/openssh.ts';

/** What this program prints: bodies and statuses as clients got them. */
export interface ReachOutcome {
  /** Exit status of curl without a proxy. */
  readonly direct: number;
  /** Bodies, by every way and every name of the node. */
  readonly chained: readonly string[];
  readonly v6: readonly string[];
  readonly undici: readonly string[];
  readonly sshForward: string;
  /** Statuses of a service on the machine's loopback. */
  readonly forwarded: readonly string[];
  /** Statuses for the neighbour in forward mode. */
  readonly forwardElsewhere: readonly string[];
  /** Statuses of loopback and of metadata addresses, chained. */
  readonly closed: readonly string[];
  /** Status of HTTP, and exit status of curl with SOCKS5. */
  readonly nobody: readonly string[];
}

const NEIGHBOUR = `${import.meta.dirname}/lan-neighbour.ts`;
const AGENT = `${import.meta.dirname}/../../../cli/edge-agent.ts`;

const scope = createScope();
const neighbour = await ownNetwork(scope, [process.execPath, NEIGHBOUR]);
const machine = await ownNetwork(scope);
const [said] = (await once(neighbour.stdout, 'data')) as [Buffer];
const port = Number(String(said));
cable('near0', process, machine, ['10.77.0.1/24', '10.77.0.2/24']);
cable('lan0', machine, neighbour, ['192.168.77.1/24', '192.168.77.2/24'], ['fd77::1/64', 'fd77::2/64']);

// The agent finds the admin by the address that it has in the network between them.
const fleet = await startFleet(scope, {
  connection: JSON.parse(process.argv[2] ?? '') as TestConnection,
  env: { ADMIN_API_HOST: '0.0.0.0' },
  frontProxy: async (url) => Promise.resolve(url.replace('127.0.0.1', '10.77.0.1')),
}).catch(fail);
const admin = fleet.admin();
const dataDirectory = join(fleet.directory, 'machine');
const agent = Program.run(scope, 'nsenter', [...inNetworkOf(machine), process.execPath, AGENT, 'up'], {
  AGENT_DATA_DIR: dataDirectory,
  ...FREE_PORTS,
  ADMIN_URLS: admin.dialledUrl,
  AGENT_ALIASES: 'gw',
  ENROLLMENT_KEY: (await fleet.key()).key,
});
await agent.logged('Connected');
const node = await until('the node', async () => {
  const now = await fleet.rest.get<NodeResource>(`/nodes/${enrollmentIn(dataDirectory)?.node_id}`);
  return now.status === 'healthy' ? now : null;
});

const alias = node.aliases[0]?.vpn_hostname ?? '';
const names = [node.vpn_hostname, alias, alias.replace('.fleet.', '.cluster-fleet.'), alias.toUpperCase()];
const [http, tunnel, socksName, socksAddress] = ways(`${alias}:${FLEET_KEYS.PROXY_KEY}`);
const self = ways(FORWARD);
const status = ['-o', '/dev/null', '-w', '%{http_code}'];

const seen: ReachOutcome = {
  direct: (await curl(`http://192.168.77.2:${port}/`)).code,
  chained: (
    await Promise.all(
      names.map((name) => bodies(`http://192.168.77.2:${port}/`, ...ways(`${name}:${FLEET_KEYS.PROXY_KEY}`))),
    )
  ).flat(),
  v6: await bodies(`http://[fd77::2]:${port}/`, http, tunnel, socksName),
  undici: await Promise.all(
    [`http://${alias}`, `http://${node.vpn_hostname.toUpperCase()}`].map((name) => byUndici(new URL(name).hostname)),
  ),
  sshForward: await bySsh(),
  forwarded: await byLoopback(),
  forwardElsewhere: await bodies(
    `http://192.168.77.2:${port}/`,
    [...self[0], ...status],
    [...self[1], '-o', '/dev/null', '-w', '%{http_connect}'],
  ),
  closed: (
    await Promise.all(
      ['127.0.0.1', '[::1]', '169.254.169.254', 'localhost'].map((host) =>
        bodies(`http://${host}:${port}/`, [...http, ...status]),
      ),
    )
  ).flat(),
  nobody: [
    ...(await bodies(`http://192.168.77.99:${port}/`, [...http, ...status])),
    String((await curl(...socksAddress, `http://192.168.77.99:${port}/`)).code),
  ],
};
process.stdout.write(JSON.stringify(seen));
await scope.end();

/** Ways in which curl asks the proxies of the admin. */
function ways(user: string): [string[], string[], string[], string[]] {
  const proxyUser = ['--proxy-user', user];
  const [httpProxy, socks5Proxy] = [`127.0.0.1:${admin.httpProxyPort}`, `127.0.0.1:${admin.socks5ProxyPort}`];
  return [
    ['--proxy', `http://${httpProxy}`, ...proxyUser],
    ['--proxytunnel', '--proxy', `http://${httpProxy}`, ...proxyUser],
    ['--socks5-hostname', socks5Proxy, ...proxyUser],
    ['--socks5', socks5Proxy, ...proxyUser],
  ];
}

async function bodies(url: string, ...asking: readonly (readonly string[])[]): Promise<string[]> {
  return (await Promise.all(asking.map((words) => curl(...words, url)))).map(({ out }) => out.trim());
}

function curl(...words: readonly string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile('curl', ['-sS', '--noproxy', '', '--max-time', '30', ...words], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout === '' ? stderr : stdout });
    });
  });
}

/** A body of 2 MB goes up; what comes down is read as text. */
async function byUndici(name: string): Promise<string> {
  const dispatcher = new ProxyAgent({
    uri: `http://127.0.0.1:${admin.httpProxyPort}`,
    token: `Basic ${Buffer.from(`${name}:${FLEET_KEYS.PROXY_KEY}`).toString('base64')}`,
  });
  const { body } = await request(`http://192.168.77.2:${port}/`, {
    dispatcher,
    method: 'POST',
    body: Buffer.alloc(2_000_000),
  });
  const text = await body.text();
  await dispatcher.close();
  return text;
}

/** A user who is logged in at the machine has a port forwarded to the neighbour. */
async function bySsh(): Promise<string> {
  const login = await allow(fleet, node.id, 'deploy', fleet.directory);
  const local = await freePort();
  const forward = ['-N', '-L', `${local}:192.168.77.2:${port}`];
  const child = startClient(scope, 'ssh', [...forward, ...wordsTo({ ...node, vpn_hostname: alias }, login, admin)]);
  const out = await until('the forward', async () => {
    const got = await curl(`http://127.0.0.1:${local}/`);
    return got.code === 0 ? got.out : null;
  });
  child.kill();
  return out;
}

/** A service that listens on the loopback of the machine only. */
async function byLoopback(): Promise<string[]> {
  const service = spawn('nsenter', [...inNetworkOf(machine), process.execPath, NEIGHBOUR], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  scope.teardown(() => {
    service.kill('SIGKILL');
  });
  const [line] = (await once(service.stdout, 'data')) as [Buffer];
  return bodies(`http://${alias}:${Number(String(line))}/`, [...self[0], ...status], [...self[2], ...status]);
}

async function fail(error: unknown): Promise<never> {
  await scope.end();
  throw error;
}
