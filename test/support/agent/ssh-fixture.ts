/** An SSH server of the agent with users in memory, and OpenSSH's programs that reach it. */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Egress } from '../../../agent/access/egress/egress.ts';
import { sftpCommand } from '../../../agent/access/sftp/command.ts';
import { SshServer, type SshServerOptions } from '../../../agent/access/ssh/server.ts';
import { notDialled, type Dialled } from '../../../transport/net/streams/dialled.ts';
import type { SshCredential, SshVerdict } from '../../../transport/protocol/ssh.ts';
import type { Scope } from '../scope.ts';

/** Somebody who may log in. */
export interface TestUser {
  readonly id: string;
  readonly password?: string;
  /** By base64 of the blob: the key's id. */
  readonly keys: Map<string, string>;
}

/** How a client ended. */
export interface ClientEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
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
  key(type: string, bits?: number): Promise<string>;
  /** Makes a user that the private keys at these paths and the password let in. */
  user(name: string, keys: readonly string[], password?: string): TestUser;
  /** Arguments of ssh for this server: nothing of the caller's own files, keys or agent. */
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
  const directory = mkdtempSync(join(tmpdir(), 'edge-ssh-'));
  const users = new Map<string, TestUser>();
  const asked: SshServerFixture['asked'] = [];
  const silent = () => {};
  const server = new SshServer({
    port: 0,
    hosts: ['127.0.0.1'],
    hostKeyPath: join(directory, 'ssh_host_key'),
    egress: directEgress(),
    log: { debug: silent, info: silent, warn: silent, error: silent },
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
  scope.teardown(async () => {
    await server.close();
    rmSync(directory, { recursive: true, force: true });
  });

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
    async key(type, bits) {
      const path = join(directory, `key-${made++}`);
      await promisify(execFile)('ssh-keygen', [
        '-q',
        '-t',
        type,
        ...(bits === undefined ? [] : ['-b', String(bits)]),
        '-N',
        '',
        '-f',
        path,
      ]);
      return path;
    },
    user(name, keys, password) {
      const user = {
        id: randomUUID(),
        ...(password !== undefined && { password }),
        keys: new Map(keys.map((path) => [blobOf(path), randomUUID()])),
      };
      users.set(name, user);
      return user;
    },
    options(key) {
      const known = join(directory, 'known_hosts');
      return [
        '-F',
        'none',
        '-p',
        String(port),
        '-o',
        'StrictHostKeyChecking=no',
        '-o',
        `UserKnownHostsFile=${known}`,
        '-o',
        'GlobalKnownHostsFile=none',
        '-o',
        'IdentityAgent=none',
        '-o',
        'LogLevel=ERROR',
        ...(key === null
          ? ['-o', 'PubkeyAuthentication=no']
          : ['-o', 'IdentitiesOnly=yes', '-i', key, '-o', 'PasswordAuthentication=no']),
      ];
    },
    start(words, environment) {
      const client = spawn('ssh', [...words], {
        env: { PATH: process.env['PATH'], HOME: directory, ...environment },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      client.stdin.on('error', () => {}); // a client that ended before it had read all
      return client;
    },
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
  const key = await fixture.key('ed25519');
  fixture.user('alice', [key]);
  return { fixture, key, words: [...fixture.options(key), 'alice@127.0.0.1'] };
}

/** True while a process lives; a dead one that nobody has heard of yet does not. */
export function lives(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Gives a program its input and waits for its end. */
export async function collect(child: ChildProcessWithoutNullStreams, input: string | Buffer = ''): Promise<ClientEnd> {
  const out: Buffer[] = [];
  const error: Buffer[] = [];
  child.stdout.on('data', (data: Buffer) => {
    out.push(data);
  });
  child.stderr.on('data', (data: Buffer) => {
    error.push(data);
  });
  child.stdin.on('error', () => {}); // a client that ended before it had read all
  child.stdin.end(input);
  const [status, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { status, signal, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(error).toString() };
}

/** The base64 blob of the public key beside a private one. */
export function blobOf(path: string): string {
  return readFileSync(`${path}.pub`, 'utf8').split(' ')[1] ?? '';
}

/** Environment in which ssh takes this password without a terminal. */
export function askpass(directory: string, password: string): NodeJS.ProcessEnv {
  const path = join(directory, 'askpass.sh');
  writeFileSync(path, '#!/bin/sh\nprintf "%s\\n" "$TEST_PASSWORD"\n', { mode: 0o700 });
  return { SSH_ASKPASS: path, SSH_ASKPASS_REQUIRE: 'force', TEST_PASSWORD: password };
}

/** Dials whatever is asked for: the policy of real egress has tests of its own. */
function directEgress(): Egress {
  return {
    dial: async ({ host, port }, _use, signal) =>
      new Promise<Dialled>((resolve) => {
        const stream = connect({ host, port, signal, allowHalfOpen: true });
        stream.once('connect', () => resolve({ ok: true, stream }));
        stream.once('error', (error: NodeJS.ErrnoException) =>
          resolve(notDialled(error.code === 'ECONNREFUSED' ? 'refused' : 'failed', error.message)),
        );
      }),
  };
}

function accepted(user: TestUser, key: string | null): SshVerdict {
  return { accepted: true, grant: { ssh_username_id: user.id, ssh_public_key_id: key } };
}
