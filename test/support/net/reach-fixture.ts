/** What the tests of reaching machines have in common: how a fleet's proxies are used, and who may log in where. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { SshUsernameResource } from '../../../actors/resources/ssh.ts';
import { FLEET_KEYS, type Fleet } from '../fleet.ts';
import type { AdminProgram } from '../fleet/admin-program.ts';
import { keyPair, options, publicKey, sshWords } from '../ssh/openssh.ts';

/** What is shown to the proxies of an admin in forward mode. */
export const FORWARD = `_:${FLEET_KEYS.PROXY_KEY}`;

/** A private key at `path`, its public half, and who it lets in. */
export interface Login {
  readonly username: string;
  readonly path: string;
  readonly resource: SshUsernameResource;
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

/**
 * Words of ssh up to the command for somebody at a machine: through an admin, or straight to its agent as from its LAN.
 */
export function wordsTo(
  { ssh_port: port, vpn_hostname: name }: Pick<NodeResource, 'ssh_port' | 'vpn_hostname'>,
  { username, path }: Pick<Login, 'username'> & { readonly path: string | null },
  admin: AdminProgram | null = null,
): string[] {
  const way = admin === null ? [] : through(admin);
  return [...sshWords(path), ...way, ...options(`Port=${port}`), `${username}@${admin === null ? '127.0.0.1' : name}`];
}

/** Words of ssh for a way through an admin, with ncat as the one who speaks to its proxy. */
export function through(
  { httpProxyPort, socks5ProxyPort }: Pick<AdminProgram, 'httpProxyPort' | 'socks5ProxyPort'>,
  protocol: 'http' | 'socks5' = 'http',
  user = FORWARD,
): string[] {
  const port = protocol === 'http' ? httpProxyPort : socks5ProxyPort;
  return options(
    `ProxyCommand=ncat --proxy 127.0.0.1:${port} --proxy-type ${protocol} --proxy-dns remote --proxy-auth ${user} %h %p`,
  );
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

/** How a stream comes to its end: `end`, or the code of the error that cuts it. */
export function endOf(stream: Socket): Promise<string> {
  return new Promise((resolve) => {
    stream.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(code)).once('end', () => resolve('end'));
  });
}

/** All that a port answers to bytes and an end, until it has nothing more to say. */
export async function exchange(port: number, bytes: Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let said = '';
  socket
    .setEncoding('latin1')
    .on('data', (part: string) => {
      said += part;
    })
    .on('error', () => {});
  socket.end(bytes);
  await once(socket, 'close');
  return said;
}
