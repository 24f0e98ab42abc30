/** Networks that tests make for themselves: each is that of a process started by `unshare -n`, and ends with it. */
import { execFileSync, type ChildProcess } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { until } from '../until.ts';

/** Words for `nsenter` that lead into the network of a process. */
export function inNetworkOf({ pid }: ChildProcess): string[] {
  return ['-t', `${pid}`, '-n'];
}

/** Until `unshare` has done its work. */
export async function hasNetwork({ pid }: ChildProcess): Promise<void> {
  await until('a network of its own', () => readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync('/proc/self/ns/net'));
}

/** Lays a cable between two networks; at the far end it is `eth0`. */
export function cable(name: string, near: number, nearAddress: string, far: ChildProcess, farAddress: string): void {
  const here = ['nsenter', '-t', `${near}`, '-n', 'ip'];
  const there = ['nsenter', ...inNetworkOf(far), 'ip'];
  for (const [command = '', ...words] of [
    [...here, 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${far.pid}`],
    [...here, 'addr', 'add', nearAddress, 'dev', name],
    [...there, 'addr', 'add', farAddress, 'dev', 'eth0'],
    [...here, 'link', 'set', name, 'up'],
    [...there, 'link', 'set', 'eth0', 'up'],
  ])
    execFileSync(command, words);
}
