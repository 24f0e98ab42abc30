/** What the tests of reaching machines have in common: how a fleet's proxies are used, and who may log in where. */
import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SshUsernameResource } from '../../actors/resources/ssh.ts';
import { FLEET_KEYS, type Fleet } from './fleet.ts';
import type { AdminProgram } from './fleet/admin-program.ts';
import type { AgentProgram } from './fleet/agent-program.ts';
import type { Scope } from './scope.ts';
import { collect, type ClientEnd } from './agent/ssh-fixture.ts';

/** What is shown to the proxies of an admin in forward mode. */
export const FORWARD = `_:${FLEET_KEYS.PROXY_KEY}`;

/** A private key at `path`, its public half, and who it lets in. */
export interface Login {
  readonly username: string;
  readonly path: string;
  readonly resource: SshUsernameResource;
}

/** The only admin of a fleet, or the first. */
export function adminOf(fleet: Fleet): AdminProgram {
  const [admin] = fleet.admins;
  if (admin === undefined) throw new Error('there is no admin');
  return admin;
}

/** An agent by its place. */
export function agentOf(fleet: Fleet, place = 0): AgentProgram {
  const agent = fleet.agents[place];
  if (agent === undefined) throw new Error(`there is no agent ${place}`);
  return agent;
}

/** Makes a key pair; the answer is the path of the private one. */
export async function keyPair(path: string, type = 'ed25519', bits?: number): Promise<string> {
  await promisify(execFile)('ssh-keygen', [
    '-q',
    '-t',
    type,
    ...(bits === undefined ? [] : ['-b', String(bits)]),
    '-N',
    '',
    '-C',
    'test',
    '-f',
    path,
  ]);
  return path;
}

/** The public half of a key pair, as users give it. */
export function publicKey(path: string): string {
  return readFileSync(`${path}.pub`, 'utf8').trim();
}

/** Lets a user in at a node, with a fresh key in this directory. */
export async function allow(
  fleet: Fleet,
  node: string,
  username: string,
  directory: string,
  more: object = {},
): Promise<Login> {
  const path = await keyPair(join(directory, `key-${username}-${node.slice(0, 8)}`));
  const resource = await fleet.rest.post<SshUsernameResource>(`/nodes/${node}/ssh_usernames`, {
    username,
    public_keys: [{ key_name: 'one', public_key: publicKey(path) }],
    ...more,
  });
  return { username, path, resource };
}

/** Words for OpenSSH that hold nothing of the caller's own files. A null key shows none. */
export function sshWords(directory: string, key: string | null): string[] {
  return [
    '-F',
    'none',
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    `UserKnownHostsFile=${join(directory, 'known_hosts')}`,
    '-o',
    'GlobalKnownHostsFile=none',
    '-o',
    'IdentityAgent=none',
    '-o',
    'LogLevel=ERROR',
    ...(key === null
      ? ['-o', 'PubkeyAuthentication=no']
      : ['-o', 'IdentitiesOnly=yes', '-i', key, '-o', 'PasswordAuthentication=no', '-o', 'BatchMode=yes']),
  ];
}

/** The same through an admin, with ncat as the one who speaks to its proxy. */
export function through(
  { httpProxyPort, socks5ProxyPort }: Pick<AdminProgram, 'httpProxyPort' | 'socks5ProxyPort'>,
  protocol: 'http' | 'socks5' = 'http',
  user = FORWARD,
): string[] {
  const port = protocol === 'http' ? httpProxyPort : socks5ProxyPort;
  return [
    '-o',
    `ProxyCommand=ncat --proxy 127.0.0.1:${port} --proxy-type ${protocol} --proxy-dns remote --proxy-auth ${user} %h %p`,
  ];
}

/** Starts a program of OpenSSH. */
export function startClient(
  scope: Scope,
  program: string,
  words: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  scope.teardown(() => {
    child.kill('SIGKILL');
  });
  return child;
}

/** Runs one to its end. */
export async function runClient(
  scope: Scope,
  program: string,
  words: readonly string[],
  input: string | Buffer = '',
  environment: NodeJS.ProcessEnv = {},
): Promise<ClientEnd> {
  return collect(startClient(scope, program, words, environment), input);
}

/** What became of a CONNECT: its status and body, or the stream. */
export interface Connected {
  readonly status: number;
  readonly body: string;
  readonly stream: Socket | null;
}

/** Asks an HTTP proxy for a stream. Null: no credentials. */
export async function connectThrough(
  proxyPort: number,
  authority: string,
  user: string | null = FORWARD,
): Promise<Connected> {
  const asked = request({
    host: '127.0.0.1',
    port: proxyPort,
    method: 'CONNECT',
    path: authority,
    agent: false,
    headers: user === null ? {} : { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` },
  });
  asked.end();
  const [response, socket, head] = (await once(asked, 'connect')) as [{ readonly statusCode: number }, Socket, Buffer];
  socket.on('error', () => {}); // a cut: its close follows
  if (response.statusCode === 200) {
    if (head.length > 0) socket.unshift(head);
    return { status: 200, body: '', stream: socket };
  }
  let body = head.toString();
  socket.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  if (!socket.closed) await once(socket, 'close');
  return { status: response.statusCode, body: body.trim(), stream: null };
}

/** The stream of a CONNECT that must succeed. */
export async function streamThrough(
  proxyPort: number,
  authority: string,
  user: string | null = FORWARD,
): Promise<Socket> {
  const { status, body, stream } = await connectThrough(proxyPort, authority, user);
  if (stream === null) throw new Error(`the proxy answered ${status}: ${body}`);
  return stream;
}

/** Resolves with the ms from now until a stream is closed. */
export async function closedAfterMs(
  stream: Socket | ChildProcessWithoutNullStreams,
  fromMs = performance.now(),
): Promise<number> {
  await new Promise<void>((resolve) => {
    if ('closed' in stream && stream.closed) resolve();
    else stream.once('close', () => resolve());
  });
  return performance.now() - fromMs;
}
