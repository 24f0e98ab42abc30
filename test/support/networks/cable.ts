/** Networks that tests make for themselves: each is that of a process started by `unshare -n`, and ends with it. */
import { execFile, execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { scaled } from '../busy.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';

/** The process that a network belongs to. */
export type NetworkOwner = ChildProcessByStdio<Writable, Readable, null>;

/** Runs a command of the shell in a network of its own to its end, if wanted with mounts too. Rejects when it fails. */
export function inOwnNetwork(
  command: string,
  { mounts = false, msMax = 120_000 }: { readonly mounts?: boolean; readonly msMax?: number } = {},
): Promise<{ readonly stdout: string }> {
  const flags = `-${process.getuid?.() === 0 ? '' : 'r'}n${mounts ? 'm' : ''}`;
  return promisify(execFile)('unshare', [flags, 'sh', '-c', `ip link set lo up && ${command}`], {
    timeout: scaled(msMax),
    maxBuffer: 67_108_864,
  });
}

/** Why there can be no such networks here: they need root, or user namespaces, and `ip`. Null: they can be. */
export async function networkProblem(): Promise<string | null> {
  return inOwnNetwork('ip link add a0 type veth peer name b0').then(
    () => null,
    (error: Error) => `left out, for want of networks of its own (unshare, ip, veth): ${error.message}`,
  );
}

/**
 * Starts a command in a network of its own, by default one that does nothing. It is killed at the end of the scope; one
 * that ends when its input does is gone too when this program is killed.
 */
export async function ownNetwork(scope: Scope, command: readonly string[] = ['cat']): Promise<NetworkOwner> {
  const owner = spawn('unshare', ['-n', ...command], { stdio: ['pipe', 'pipe', 'inherit'] });
  scope.teardown(() => {
    owner.kill('SIGKILL');
  });
  await until(
    'a network of its own',
    () => readlinkSync(`/proc/${owner.pid}/ns/net`) !== readlinkSync('/proc/self/ns/net'),
  );
  ipIn(owner, 'link', 'set', 'lo', 'up');
  return owner;
}

/** Words for `nsenter` that lead into the network of a process. */
export function inNetworkOf({ pid }: { readonly pid?: number | undefined }): string[] {
  return ['-t', `${pid}`, '-n'];
}

/** Runs `ip` in the network of a process. */
export function ipIn(owner: { readonly pid?: number | undefined }, ...words: readonly string[]): void {
  execFileSync('nsenter', [...inNetworkOf(owner), 'ip', ...words]);
}

/** Lays a cable between the networks of two processes, with these pairs of addresses; at the far end it is `eth0`. */
export function cable(
  name: string,
  near: { readonly pid?: number | undefined },
  far: NetworkOwner,
  ...addresses: readonly (readonly [near: string, far: string])[]
): void {
  ipIn(near, 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${far.pid}`);
  for (const [ours, theirs] of addresses) {
    const nodad = ours.includes(':') ? ['nodad'] : []; // used at once, not after a look whether somebody else has it
    ipIn(near, 'addr', 'add', ours, 'dev', name, ...nodad);
    ipIn(far, 'addr', 'add', theirs, 'dev', 'eth0', ...nodad);
  }
  ipIn(near, 'link', 'set', name, 'up');
  ipIn(far, 'link', 'set', 'eth0', 'up');
}
