/** An SSH server of the agent with users in memory, and OpenSSH's programs that reach it. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { sftpCommand } from '../../../agent/access/sftp/command.ts';
import { SshServer, type SshServerOptions } from '../../../agent/access/ssh/server.ts';
import type { SshCredential, SshVerdict } from '../../../transport/protocol/ssh.ts';
import { silentLog } from '../log.ts';
import {
  blobOf,
  collect,
  keyPair,
  options as settings,
  sshWords,
  startClient,
  type ClientEnd,
} from '../ssh/openssh.ts';
import { dialTcp } from '../net/proxies-fixture.ts';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Somebody who may log in. */
export interface TestUser {
  readonly id: string;
  readonly password?: string;
  /** By base64 of the blob: the key's id. */
  readonly keys: Map<string, string>;
}

/** A server and who may log in. */
export interface SshServerFixture {
  readonly server: SshServer;
  readonly port: number;
  /** A directory of this fixture alone. */
  readonly directory: string;
  readonly users: Map<string, TestUser>;
  /** Every attempt that the server asked about. */
  readonly asked: { readonly username: string; readonly credential: SshCredential }[];
  /** Takes the place of the users when set. */
  verdict: ((username: string, credential: SshCredential) => Promise<SshVerdict | null>) | null;
  /** Makes a key pair; the answer is the path of the private one. */
  key(type?: string, bits?: number): Promise<string>;
  /** Makes a user that the private keys at these paths and the password let in. */
  user(name: string, keys: readonly string[], password?: string): TestUser;
  /** Words for ssh, scp and sftp that lead to this server. */
  options(key: string | null): string[];
  /** Starts OpenSSH's ssh. */
  start(words: readonly string[], environment?: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams;
  /** Runs it to its end. */
  ssh(words: readonly string[], input?: string | Buffer, environment?: NodeJS.ProcessEnv): Promise<ClientEnd>;
}

/** Starts a server that ends with the scope. */
export async function startSshFixture(
  scope: Scope,
  options: Partial<SshServerOptions> = {},
): Promise<SshServerFixture> {
  const directory = temporaryDirectory(scope);
  const users = new Map<string, TestUser>();
  const asked: SshServerFixture['asked'] = [];
  const server = new SshServer({
    port: 0,
    hosts: ['127.0.0.1'],
    hostKeyPath: join(directory, 'ssh_host_key'),
    egress: { dial: (target, _use, signal) => dialTcp({ ...target, username: '_' }, signal) }, // the policy has tests of its own
    log: silentLog,
    environment: { PATH: process.env['PATH'], LANG: 'C.UTF-8' },
    sftpCommand,
    accounts: async () => ({
      name: userInfo().username,
      uid: userInfo().uid,
      gid: userInfo().gid,
      home: directory,
      shell: '/bin/bash',
      isOther: false,
    }), // the home of whoever runs the tests may hold anything
    ...options,
    verify: async (username, credential) => {
      asked.push({ username, credential });
      return await (fixture.verdict ?? judge)(username, credential);
    },
  });
  const port = await server.start();
  scope.teardown(() => server.close());

  async function judge(username: string, credential: SshCredential): Promise<SshVerdict | null> {
    const user = users.get(username);
    if (user === undefined) return { accepted: false };
    if (credential.method === 'password')
      return credential.password === user.password ? accepted(user, null) : { accepted: false };
    const key = user.keys.get(credential.blob);
    return key === undefined || credential.signature === 'wrong' ? { accepted: false } : accepted(user, key);
  }

  let made = 0;
  const fixture: SshServerFixture = {
    server,
    port: port ?? 0,
    directory,
    users,
    asked,
    verdict: null,
    key: (type, bits) => keyPair(join(directory, `key-${made++}`), type, bits),
    user(name, keys, password) {
      const user = {
        id: randomUUID(),
        ...(password !== undefined && { password }),
        keys: new Map(keys.map((path) => [blobOf(path), randomUUID()])),
      };
      users.set(name, user);
      return user;
    },
    options: (key) => [...sshWords(key), ...settings(`Port=${port}`)],
    start: (words, environment) => startClient(scope, 'ssh', words, { HOME: directory, ...environment }),
    ssh: async (words, input = '', environment) => collect(fixture.start(words, environment), input),
  };
  return fixture;
}

/** A server with alice, and the arguments that log her in. */
export async function withAlice(
  scope: Scope,
  options: Partial<SshServerOptions> = {},
): Promise<{ readonly fixture: SshServerFixture; readonly key: string; readonly words: string[] }> {
  const fixture = await startSshFixture(scope, options);
  const key = await fixture.key();
  fixture.user('alice', [key]);
  return { fixture, key, words: [...fixture.options(key), 'alice@127.0.0.1'] };
}

function accepted(user: TestUser, key: string | null): SshVerdict {
  return { accepted: true, grant: { ssh_username_id: user.id, ssh_public_key_id: key } };
}
