/**
 * A program for a network of its own: the machine of an agent, between a client and a neighbour that have networks of
 * their own too.
 * There is no way from the client to the neighbour but through the agent. Prints what curl got there, as JSON.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { Resolve } from '../../../../transport/net/outbound-guard/resolution.ts';
import { createScope } from '../../../support/scope.ts';
import { cable, inNetworkOf, ownNetwork } from '../../../support/networks/cable.ts';
import { startTripwire } from '../guard/tripwire.ts';
import { PASSWORD, startFixture } from '../../../support/agent/proxies-fixture.ts';

/** What this program prints: bodies and statuses as curl got them. */
export interface LanOutcome {
  /** Exit status of curl without a proxy. */
  readonly direct: number;
  readonly v4: readonly string[];
  readonly v6: readonly string[];
  readonly byName: readonly string[];
  /** The status that is handed back, and that of where it leads, if one follows it through the proxy. */
  readonly redirect: readonly string[];
  /** Statuses for a name that changes to loopback. */
  readonly rebound: readonly string[];
  /** Statuses for the agent's own address in the LAN: a service of the machine, and its own proxy. */
  readonly own: readonly string[];
  /** A link-local address: closed, and opened by the operator. */
  readonly linkLocal: readonly string[];
  /** What became of dials to an address that nobody has, and to a network to which there is no way. */
  readonly nobody: readonly string[];
  /** How the admin's chaining mode gets to the neighbour. */
  readonly chained: string;
  /** Connections that arrived on loopback. */
  readonly trapped: readonly string[];
}

const scope = createScope();
const neighbour = await ownNetwork(scope, [process.execPath, `${import.meta.dirname}/../lan-neighbour.ts`]);
const client = await ownNetwork(scope);
const [said] = (await once(neighbour.stdout, 'data')) as [Buffer];
const port = Number(String(said));
const lan = [
  ['192.168.77.1/24', '192.168.77.2/24'],
  ['fd77::1/64', 'fd77::2/64'],
  ['169.254.7.1/24', '169.254.7.7/24'],
] as const;
cable('lan0', process, neighbour, ...lan);
cable('near0', process, client, ['10.77.0.1/24', '10.77.0.2/24']);

const trap = await startTripwire(scope);
let asked = 0;
const names: Resolve = (name) =>
  Promise.resolve(name === 'rebound.lan' && (asked += 1) > 1 ? ['127.0.0.1'] : ['192.168.77.2']);
const fixture = await startFixture(scope, { AGENT_PROXY_HOST: '10.77.0.1' }, names);
const open = await startFixture(scope, { AGENT_PROXY_HOST: '10.77.0.1', PROXY_CUSTOM_ALLOWED_HOSTS: '169.254.7.0/24' });
const [http, tunnel, socksName, socksAddress] = ways(fixture.httpPort, fixture.socks5Port);
const status = ['-o', '/dev/null', '-w', '%{http_code}'];

const seen: LanOutcome = {
  direct: (await curl(`http://192.168.77.2:${port}/`)).code,
  v4: await bodies(`http://192.168.77.2:${port}/`, http, tunnel, socksName, socksAddress),
  v6: await bodies(`http://[fd77::2]:${port}/`, http, tunnel, socksName, socksAddress),
  byName: await bodies(`http://box.lan:${port}/`, http, tunnel, socksName),
  redirect: [
    ...(await bodies(`http://192.168.77.2:${port}/to/${trap.port}`, [...http, ...status])),
    ...(await bodies(`http://192.168.77.2:${port}/to/${trap.port}`, [...http, ...status, '-L'])),
  ],
  rebound: [
    ...(await bodies(`http://rebound.lan:${port}/`, [...http, ...status])),
    ...(await bodies(`http://rebound.lan:${trap.port}/`, [...http, ...status])),
  ],
  own: [
    ...(await bodies(`http://192.168.77.1:${trap.port}/`, [...http, ...status])),
    ...(await bodies(`http://10.77.0.1:${fixture.httpPort}/`, [...http, ...status])),
  ],
  linkLocal: await bodies(
    `http://169.254.7.7:${port}/`,
    [...http, ...status],
    [...ways(open.httpPort, open.socks5Port)[0], ...status],
  ),
  nobody: await Promise.all(['192.168.77.99', '8.8.8.8'].map((host) => dialled(host))),
  chained: await dialled('192.168.77.2'),
  trapped: trap.arrived.filter((address) => address !== '192.168.77.1'),
};
process.stdout.write(JSON.stringify(seen));
await scope.end();

/** Ways in which curl asks the proxies. */
function ways(httpPort: number, socks5Port: number): [string[], string[], string[], string[]] {
  const user = ['--proxy-user', `_:${PASSWORD}`];
  return [
    ['--proxy', `http://10.77.0.1:${httpPort}`, ...user],
    ['--proxytunnel', '--proxy', `http://10.77.0.1:${httpPort}`, ...user],
    ['--socks5-hostname', `10.77.0.1:${socks5Port}`, ...user],
    ['--socks5', `10.77.0.1:${socks5Port}`, ...user],
  ];
}

async function bodies(url: string, ...asking: readonly (readonly string[])[]): Promise<string[]> {
  return (await Promise.all(asking.map((words) => curl(...words, url)))).map(({ out }) => out.trim());
}

/** curl as the client runs it, in its network. */
function curl(...words: readonly string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(
      'nsenter',
      [...inNetworkOf(client), 'curl', '-sS', '--noproxy', '', '--max-time', '20', ...words],
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), out: error === null ? stdout : stderr });
      },
    );
  });
}

async function dialled(host: string): Promise<string> {
  const opened = await fixture.egress.dial({ host, port }, 'chain', AbortSignal.timeout(20_000));
  if (opened.ok) opened.stream.destroy();
  return opened.ok ? 'open' : opened.failure;
}
