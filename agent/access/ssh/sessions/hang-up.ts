/** Ends what a vanished client leaves running. */
import { existsSync, readFileSync } from 'node:fs';

/**
 * The process groups that a session runs in front: that of its first process, and that which its terminal has in front.
 * What was put into the background on purpose (nohup, setsid, tmux) lives on, as with sshd.
 */
export function groupsOf(pid: number): number[] {
  return [...new Set([pid, foregroundOf(pid)])].filter((group) => group > 1);
}

/**
 * What is left of the process group of a program that has ended. None when its number is another process's: numbers
 * come again once nobody of the group is left.
 */
export function groupsLeftBy(pid: number): number[] {
  return existsSync(`/proc/${pid}`) ? [] : [pid];
}

/**
 * Sends HUP to the groups now, and KILL to what is left of them after `ms`. `over` is called when there is nothing left
 * to be killed.
 */
export function hangUp(groups: readonly number[], ms: number, over: () => void): void {
  const left = groups.filter((group) => send(group, 'SIGHUP'));
  for (const group of left) send(group, 'SIGCONT'); // a stopped process hears nothing else
  if (left.length === 0) return over();
  setTimeout(() => {
    for (const group of left) send(group, 'SIGKILL');
    over();
  }, ms);
}

/** Sends a signal to a process group. False: it has no process any more, or none that is ours. */
export function send(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}

/** The group in front of the terminal of a process; 0 when it has none. Source: proc_pid_stat(5), tpgid. */
function foregroundOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[5]);
  } catch {
    return 0; // it ended already
  }
}
