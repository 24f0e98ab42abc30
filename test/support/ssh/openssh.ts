/** OpenSSH's programs as clients, which see nothing of the caller's own files, keys or agent. */
import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Scope } from '../scope.ts';

/** How a client ended. */
export interface ClientEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Makes a key pair; the answer is the path of the private one. */
export async function keyPair(path: string, type = 'ed25519', bits?: number): Promise<string> {
  const size = bits === undefined ? [] : ['-b', `${bits}`];
  await promisify(execFile)('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', 'test', '-f', path]);
  return path;
}

/** The public half of a key pair, as users give it. */
export function publicKey(path: string): string {
  return readFileSync(`${path}.pub`, 'utf8').trim();
}

/** The base64 blob of the public key beside a private one. */
export function blobOf(path: string): string {
  return publicKey(path).split(' ')[1] ?? '';
}

/** Settings as words. */
export function options(...settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ['-o', setting]);
}

/** Settings for a password that is asked for once. */
export const BY_PASSWORD = options('PreferredAuthentications=password', 'NumberOfPasswordPrompts=1');

/** Words for ssh, scp and sftp. A null key shows none. */
export function sshWords(key: string | null): string[] {
  return [
    '-F',
    'none',
    ...options('StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'GlobalKnownHostsFile=none'),
    ...options('IdentityAgent=none', 'LogLevel=ERROR'),
    ...(key === null
      ? options('PubkeyAuthentication=no')
      : ['-i', key, ...options('IdentitiesOnly=yes', 'PasswordAuthentication=no', 'BatchMode=yes')]),
  ];
}

/** Environment in which ssh takes this password without a terminal. */
export function askpass(directory: string, password: string): NodeJS.ProcessEnv {
  const path = join(directory, 'askpass.sh');
  writeFileSync(path, '#!/bin/sh\nprintf "%s\\n" "$TEST_PASSWORD"\n', { mode: 0o700 });
  return { SSH_ASKPASS: path, SSH_ASKPASS_REQUIRE: 'force', TEST_PASSWORD: password };
}

/** Starts a program; it is killed at the end of the scope. */
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
  child.stdin.on('error', () => {}); // it may end before it has read all
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

/** Gives a program its input and waits for its end. */
export async function collect(child: ChildProcessWithoutNullStreams, input: string | Buffer = ''): Promise<ClientEnd> {
  child.stdin.end(input);
  const [[status, signal], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
    buffer(child.stdout),
    buffer(child.stderr),
  ]);
  return { status, signal, stdout: stdout.toString(), stderr: stderr.toString() };
}
