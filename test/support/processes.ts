/** Processes of this machine, as Linux shows them. */
import { readdirSync, readFileSync } from 'node:fs';

/** Ids of all that run. */
export function processIds(): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/u.test(entry))
    .map(Number);
}

/** A file about a process; empty when it ended, or is another user's. */
export function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

/** True while a process lives; a dead one that nobody has heard of yet does not. */
export function lives(pid: number): boolean {
  const status = procFile(pid, 'status');
  return status !== '' && !/^State:\s+Z/mu.test(status);
}

/** Ids of the processes that this one began. */
export function childrenOf(parent: number): number[] {
  return processIds().filter((pid) => {
    const stat = procFile(pid, 'stat');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
  });
}

/** Sends a signal to those of them that still live. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // it ended by itself
    }
  }
}

/** Memory that it holds, in MiB. */
export function memoryMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/mu.exec(procFile(pid, 'status'))?.[1]) / 1_024;
}

/** Time that it had a processor: the same twice when it did nothing. Source: proc_pid_stat(5), utime and stime. */
export function processorTime(pid: number): string {
  return procFile(pid, 'stat').split(' ').slice(13, 15).join(' ');
}

/** Bytes that it has written so far, to whatever; Infinity once it ended. Source: proc_pid_io(5). */
export function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)$/mu.exec(procFile(pid, 'io'))?.[1] ?? Infinity);
}
