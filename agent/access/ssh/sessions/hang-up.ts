/** Ends what a vanished client leaves running. */
import { existsSync, readFileSync } from 'node:fs';

/** More than the kernel tells of a process in its `stat`, in bytes. Source: proc_pid_stat(5), 52 numbers and a name. */
export const STAT_BYTES_MAX = 2_048;

/**
 * When the process of a number began, in clock ticks since boot; null: there is none, or none that is shown (hidepid,
 * without CAP_SYS_PTRACE); UNKNOWN: nobody could look, as no file can be opened.
 */
type Start = string | null;
const UNKNOWN = 'unknown';

/** What the kernel says of a process that has ended, also while its `stat` is read. */
const GONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ESRCH']);

/** A process group as it is to be killed later. */
export interface LeftGroup {
  readonly group: number;
  readonly startTicks: Start;
}

/**
 * The process groups that a session runs in front: that of its first process, and that which its terminal has in front.
 * What was put into the background on purpose (nohup, setsid, tmux) lives on, as with sshd.
 */
export function groupsOf(pid: number): number[] {
  return groupsIn(pid, fieldsOf(pid));
}

/** As `groupsOf`, where it is known already what the kernel tells of the process; null: nothing. */
export function groupsIn(pid: number, fields: readonly string[] | null): number[] {
  return [...new Set([pid, Number(fields?.[5] ?? 0)])].filter((group) => group > 1); // 5: tpgid
}

/** What stands in a `stat` behind the name, which may hold blanks and parentheses itself. */
export function statFields(text: string): readonly string[] {
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
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
  const noted = groups.map((group) => ({ group, startTicks: startOf(group) }));
  const left = noted.filter(({ group }) => send(group, 'SIGHUP'));
  for (const { group } of left) send(group, 'SIGCONT'); // a stopped process hears nothing else
  if (left.length === 0) return over();
  setTimeout(() => {
    killLeft(left);
    over();
  }, ms);
}

/**
 * Sends KILL to these groups, but for those whose number another process has by now: it comes again once nobody of the
 * group is left. Where nobody could look, they are taken for the same.
 */
export function killLeft(left: readonly LeftGroup[]): void {
  for (const { group, startTicks } of left) {
    const now = startOf(group);
    const isAnother = now !== startTicks && now !== null && now !== UNKNOWN && startTicks !== UNKNOWN;
    if (!isAnother) send(group, 'SIGKILL');
  }
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

function startOf(pid: number): Start {
  try {
    return statOf(pid)[19] ?? UNKNOWN; // 19: starttime
  } catch (error) {
    return GONE.has((error as NodeJS.ErrnoException).code) ? null : UNKNOWN;
  }
}

/** What the kernel tells of a process, from its state on; null: it has ended, or no file can be opened. */
function fieldsOf(pid: number): readonly string[] | null {
  try {
    return statOf(pid);
  } catch {
    return null;
  }
}

function statOf(pid: number): readonly string[] {
  return statFields(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}
