/** An SSH client without manners: what OpenSSH would never do. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';
import type { ClientChannel, ConnectConfig } from 'ssh2';
import type { SshServerOptions } from '../../../agent/access/ssh/server.ts';
import { withAlice } from '../agent/ssh-fixture.ts';
import { scaled } from '../busy.ts';
import { createScope, type Scope } from '../scope.ts';

/** A client of ssh2. */
export type RawClient = InstanceType<typeof ssh2.Client>;

/**
 * A private key of which only the public half is what it says: it shows the key at `knownPath` and signs with the one
 * at `ownPath`.
 */
export function forgedAgent(knownPath: string, ownPath: string): ssh2.BaseAgent {
  const known = parsedKey(`${knownPath}.pub`);
  const own = parsedKey(ownPath);
  class Forger extends ssh2.BaseAgent {
    override getIdentities(callback: Parameters<ssh2.BaseAgent['getIdentities']>[0]): void {
      callback(null, [known]);
    }

    override sign(_key: unknown, data: Buffer, ...rest: readonly unknown[]): void {
      const callback = rest.at(-1) as (error: Error | null, signature?: Buffer) => void;
      callback(null, own.sign(data));
    }
  }
  return new Forger();
}

/** Connects; resolves once logged in, rejects with why not. */
export async function connectRaw(scope: Scope, port: number, config: ConnectConfig): Promise<RawClient> {
  const client = new ssh2.Client();
  scope.teardown(() => void client.destroy());
  client.on('error', () => {});
  client.connect({ host: '127.0.0.1', port, readyTimeout: scaled(20_000), ...config });
  await once(client, 'ready');
  return client;
}

/** Whether a password lets in on a port of this machine, with one try. */
export async function logsIn(port: number, username: string, password: string): Promise<boolean> {
  const own = createScope();
  const isIn = await connectRaw(own, port, { username, password }).then(
    () => true,
    () => false,
  );
  await own.end();
  return isIn;
}

/** A server with alice, who is logged in by this client. */
export async function withRawAlice(scope: Scope, options: Partial<SshServerOptions> = {}) {
  const made = await withAlice(scope, options);
  const login = { username: 'alice', privateKey: readFileSync(made.key) };
  return { ...made, login, client: await connectRaw(scope, made.fixture.port, login) };
}

/** Runs a command, with a terminal if it is to have one. */
export async function execRaw(client: RawClient, command: string, pty = false): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec(command, { pty }, (error, channel) => {
      if (error) reject(error);
      else resolve(channel);
    });
  });
}

/** Opens a shell with a terminal of 24 by 80. */
export async function shellRaw(
  client: RawClient,
): Promise<{ readonly channel: ClientChannel; readonly seen: () => string }> {
  return new Promise((resolve, reject) => {
    client.shell({ term: 'xterm', rows: 24, cols: 80 }, (error, channel) => {
      if (error) return reject(error);
      let seen = '';
      channel.on('data', (data: Buffer) => {
        seen += String(data);
      });
      resolve({ channel, seen: () => seen });
    });
  });
}

function parsedKey(path: string): ssh2.ParsedKey {
  const parsed = ssh2.utils.parseKey(readFileSync(path));
  if (parsed instanceof Error) throw parsed;
  return parsed;
}
