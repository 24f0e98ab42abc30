/** Which processes hold the socket of an interface: exactly these may be ended for it, whatever they are called. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Sockets of the network namespace of this process. Source: proc_pid_net(5). */
const UNIX_SOCKETS = '/proc/net/unix';

/**
 * Ids of the processes that this one may look at and that hold a socket bound to this path, in the network namespace of
 * this one. Never rejects.
 */
export async function holdersOf(socketPath: string): Promise<number[]> {
  const links = new Set(
    (await readFile(UNIX_SOCKETS, 'latin1').catch(() => ''))
      .split('\n')
      .map((line) => line.trim().split(/\s+/u))
      .filter((fields) => fields[7] === socketPath)
      .map((fields) => `socket:[${fields[6]}]`),
  );
  if (links.size === 0) return [];
  const processes = (await readdir('/proc').catch(() => [])).filter((entry) => /^\d+$/u.test(entry));
  const held = await Promise.all(processes.map((id) => holdsOne(join('/proc', id, 'fd'), links)));
  return processes.filter((_, index) => held[index]).map(Number);
}

async function holdsOne(directory: string, links: ReadonlySet<string>): Promise<boolean> {
  for (const file of await readdir(directory).catch(() => [])) {
    if (links.has(await readlink(join(directory, file)).catch(() => ''))) return true;
  }
  return false;
}
