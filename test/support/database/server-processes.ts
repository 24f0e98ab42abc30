/** The processes of a database server, for tests that stop it. */
import { readdir, readFile } from 'node:fs/promises';

/** The postmaster and all that it has forked. Linux only. */
export async function processesOf(postmaster: number): Promise<readonly number[]> {
  const all = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const parents = await Promise.all(
    all.map(async (pid) =>
      Number((await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(') ')[1]?.split(' ')[1]),
    ),
  );
  return [postmaster, ...all.filter((_, index) => parents[index] === postmaster)];
}

/** Sends a signal to those that are still there. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // it ended
    }
  }
}
