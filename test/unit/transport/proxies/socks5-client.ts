/** Bytes that a SOCKS5 client sends. */
import type { Socket } from 'node:net';
import type { Scope } from '../../../support/scope.ts';
import { PASSWORD, rawClient } from '../../../support/net/proxies-fixture.ts';

/** Offers no authentication only. */
export const GREETING_NONE = Buffer.from([5, 1, 0]);
/** Offers a user name and password, among others. */
export const GREETING_PASSWORD = Buffer.from([5, 3, 0, 1, 2]);

/** A user name and password. */
export function login(username: string, password: string): Buffer {
  const [user, pass] = [Buffer.from(username), Buffer.from(password)];
  return Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([pass.length]), pass]);
}

/** A request for an address of 4 or 16 bytes, or a name. Command 1 is CONNECT. */
export function request(host: string | readonly number[], port: number, command = 1): Buffer {
  const address =
    typeof host === 'string'
      ? [3, Buffer.byteLength(host, 'latin1'), ...Buffer.from(host, 'latin1')]
      : [host.length === 4 ? 1 : 4, ...host];
  return Buffer.from([5, command, 0, ...address, port >> 8, port & 255]);
}

/** All that a client sends to get to a target. */
export function handshake(host: string | readonly number[], port: number, username = '_'): Buffer {
  return Buffer.concat([GREETING_PASSWORD, login(username, PASSWORD), request(host, port)]);
}

/** Answers to greeting and login, which come before the reply. */
export const LET_IN = Buffer.from([5, 2, 1, 0]);

/** Opens a tunnel and gives its socket back as it is after the reply. Rejects with the reply when it is a failure. */
export async function tunnelBySocks(scope: Scope, proxyPort: number, port: number): Promise<Socket> {
  const socket = rawClient(scope, proxyPort);
  socket.write(handshake([127, 0, 0, 1], port));
  const reply = await take(socket, LET_IN.length + 10);
  if (reply[LET_IN.length + 1] !== 0) throw new Error(`SOCKS5 reply ${reply[LET_IN.length + 1]}`);
  return socket;
}

/**
 * The next bytes of a paused socket, exactly so many. One listener throughout: to add it anew would tell of the same
 * bytes at once, for ever.
 */
export function take(socket: Socket, count: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const look = (): void => {
    const bytes = socket.read(count) as Buffer | null;
    if (bytes !== null) resolve(bytes);
  };
  const over = (): void => reject(new Error(`it ended before ${count} bytes came`));
  socket.on('readable', look).once('close', over);
  look();
  return promise.finally(() => socket.off('readable', look).off('close', over));
}
