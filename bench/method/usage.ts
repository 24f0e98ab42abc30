/** What processes used, from /proc: processor time and resident memory. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Processor time of a process, all threads, in ms. 0 when it is gone. Nanosecond counters (schedstat): /proc/PID/stat
 * only counts in steps of 10 ms.
 */
export function cpuMs(pid: number): number {
  try {
    return (
      readdirSync(`/proc/${pid}/task`)
        .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
        .reduce((sum, ns) => sum + ns, 0) / 1e6
    );
  } catch {
    return 0; // it ended between two looks
  }
}

/**
 * Processor time of a process and of its descendants that ended and were waited for, in ms. In steps of 10 ms. 0 when
 * it is gone.
 */
export function cpuWithChildrenMs(pid: number): number {
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = (statOf(pid) ?? []).slice(12, 16).map(Number);
  return (user + system + endedUser + endedSystem) * 10; // USER_HZ is 100 on every Linux that Node runs on
}

/** Resident memory of a process, in bytes. 0 when it is gone. */
export function rssBytes(pid: number): number {
  try {
    const line = /^VmRSS:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(line?.[1] ?? 0) * 1_024;
  } catch {
    return 0; // it ended between two looks
  }
}

/** A process and all of its descendants that live now. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const parent = Number.isInteger(pid) ? parentOf(pid) : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree = [root];
  for (let index = 0; index < tree.length; index += 1) tree.push(...(children.get(tree[index] ?? 0) ?? []));
  return tree;
}

/** Processor time of a process and its living descendants, in ms. PostgreSQL's is its postmaster's tree. */
export function treeCpuMs(root: number): number {
  return treeOf(root).reduce((sum, pid) => sum + cpuMs(pid), 0);
}

function parentOf(pid: number): number | undefined {
  const parent = statOf(pid)?.[2];
  return parent === undefined ? undefined : Number(parent);
}

/**
 * /proc/PID/stat from the program's name on, so that an index here is that of proc(5) less two. Undefined when it is
 * gone.
 */
function statOf(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')')).split(' ');
  } catch {
    return undefined; // it ended between two looks
  }
}
