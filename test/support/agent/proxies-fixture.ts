/** The agent's own proxies in a test, and clients that write to them just what a test tells them. */
import { once } from 'node:events';
import { connect, isIPv4, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { egressRulesOf } from '../../../agent/config.ts';
import { CountedEgress } from '../../../agent/access/egress/dialler.ts';
import { createLog } from '../../../agent/log.ts';
import { startAgentProxies, type AgentProxies } from '../../../agent/access/proxies/proxies.ts';
import type { Resolve } from '../../../transport/net/outbound-guard/resolution.ts';
import type { Scope } from '../scope.ts';
import { agentConfig } from './agent-config.ts';

/** The proxy password of the node. */
export const PASSWORD = 'proxy-password-of-the-node';

/** Proxies that run until the end of the scope. */
export interface AgentProxiesFixture {
  readonly proxies: AgentProxies;
  readonly egress: CountedEgress;
  readonly httpPort: number;
  readonly socks5Port: number;
  /** Lines of the log, as they come. */
  readonly log: string[];
}

/** Starts egress and the proxies on free ports, as an agent with these settings does. */
export async function startFixture(
  scope: Scope,
  env: Readonly<Record<string, string>> = {},
  resolve?: Resolve,
): Promise<AgentProxiesFixture> {
  // 0 is for those who listen: an agent has its free ports by then
  const config = { ...agentConfig(env), AGENT_HTTP_PROXY_PORT: 0, AGENT_SOCKS5_PROXY_PORT: 0, ...portsOf(env) };
  const log: string[] = [];
  let proxies: AgentProxies | null = null;
  const egress = new CountedEgress({
    rules: egressRulesOf(config),
    proxies: () => proxies?.listening ?? [],
    ...(resolve && { resolve }),
  });
  const started = await startAgentProxies({
    config,
    password: PASSWORD,
    egress,
    log: createLog('debug', false, (line) => log.push(line)),
  });
  proxies = started;
  scope.teardown(() => started.close(0));
  return {
    proxies: started,
    egress,
    httpPort: started.ports.http_proxy_port ?? 0,
    socks5Port: started.ports.socks5_proxy_port ?? 0,
    log,
  };
}

/** Ports of proxies that a test sets. */
function portsOf(env: Readonly<Record<string, string>>): {
  AGENT_HTTP_PROXY_PORT?: number;
  AGENT_SOCKS5_PROXY_PORT?: number;
} {
  const { AGENT_HTTP_PROXY_PORT: http, AGENT_SOCKS5_PROXY_PORT: socks5 } = env;
  return {
    ...(http !== undefined && { AGENT_HTTP_PROXY_PORT: Number(http) }),
    ...(socks5 !== undefined && { AGENT_SOCKS5_PROXY_PORT: Number(socks5) }),
  };
}

/** Where a proxy is, and what is shown to it. */
export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
}

/** Sends a request of these bytes for the start line, and returns the status of the answer; 0 when there is none. */
export async function httpStatus(
  { host, port, username = '_', password = PASSWORD }: ProxyAddress,
  startLine: string,
): Promise<number> {
  const socket = await connected(host, port);
  const basic = Buffer.from(`${username}:${password}`).toString('base64');
  socket.write(`${startLine}\r\nHost: example.com\r\nProxy-Authorization: Basic ${basic}\r\nConnection: close\r\n\r\n`);
  const said = (await bytesOf(socket, (bytes) => bytes.includes('\n'))).toString('latin1');
  socket.destroy();
  return Number(/^HTTP\/1\.[01] (\d{3})/u.exec(said)?.[1] ?? 0);
}

/**
 * Asks for a host as a name, whatever it is, or as an address; returns the reply code (0: connected), or the text of
 * what went wrong before.
 */
export async function socks5Reply(
  { host, port, username = '_', password = PASSWORD }: ProxyAddress,
  target: { readonly name: string } | { readonly address: string },
  targetPort: number,
): Promise<number | string> {
  const socket = await connected(host, port);
  try {
    socket.write(Buffer.from([5, 1, 2]));
    if ((await bytesOf(socket, (bytes) => bytes.length >= 2))[1] !== 2) return 'no method';
    const [user, secret] = [Buffer.from(username), Buffer.from(password)];
    socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([secret.length]), secret]));
    if ((await bytesOf(socket, (bytes) => bytes.length >= 2))[1] !== 0) return 'not let in';
    const end = Buffer.alloc(2);
    end.writeUInt16BE(targetPort);
    socket.write(Buffer.concat([Buffer.from([5, 1, 0]), addressField(target), end]));
    const reply = await bytesOf(socket, (bytes) => bytes.length >= 2);
    return reply[1] ?? 'closed';
  } finally {
    socket.destroy();
  }
}

function addressField(target: { readonly name: string } | { readonly address: string }): Buffer {
  if ('address' in target)
    return Buffer.from([isIPv4(target.address) ? 1 : 4, ...ipaddr.parse(target.address).toByteArray()]);
  const name = Buffer.from(target.name).subarray(0, 255);
  return Buffer.concat([Buffer.from([3, name.length]), name]);
}

async function connected(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  return socket.on('error', () => {});
}

/** What comes until it is enough, or until the other side ends. */
async function bytesOf(socket: Socket, isEnough: (bytes: Buffer) => boolean): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  while (!isEnough(bytes)) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) bytes = Buffer.concat([bytes, chunk]);
    else if (socket.readableEnded || socket.destroyed) break;
    else await Promise.race(['readable', 'end', 'close'].map((event) => once(socket, event)));
  }
  return bytes;
}
