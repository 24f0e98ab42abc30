/**
 * The processes of an execution, found in /proc: also those that left its process group or its parent. While no file
 * can be opened nothing is known of any, and every look throws.
 */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { isOutOfFiles } from '../problem.ts';
import { EXECUTION_MARK, SHIM_MARK } from './exec-shim/exec-shim-script.ts';

/** One living process. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  /** In clock ticks since boot: with the pid it names a process for ever. */
  readonly startTicks: number;
  /** Environment at its last exec, or empty when it is not ours to read. */
  readonly environment: string;
}

/** All living processes. Zombies are dead: they are left out. */
export function listProcesses(): ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((entry) => entry !== null);
}

/** One process, or null when it does not live. */
export function readProcess(pid: number): ProcessEntry | null {
  const stat = readProc(pid, 'stat');
  if (stat === null) return null;
  // The name in parentheses may hold spaces and parentheses: fields count from the last one. Source: proc_pid_stat(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  return {
    pid,
    parent: Number(fields[1]),
    session: Number(fields[3]),
    startTicks: Number(fields[19]),
    environment: readProc(pid, 'environ') ?? '',
  };
}

/** True while this very process lives, and not another with its number. */
export function lives(entry: ProcessEntry): boolean {
  return readProcess(entry.pid)?.startTicks === entry.startTicks;
}

/** What belongs to one execution. */
export interface Membership {
  readonly execution: string;
  readonly shim: string;
  /** Process id of the exec shim, which leads the session; null when it never said. */
  readonly shimPid: number | null;
  /** This agent saw it live. Else its process id is from a start lock, and may be another process's by now. */
  readonly isShimSeen: boolean;
}

/**
 * The execution's processes, without its exec shim's own: those that carry its mark, those of its session, those that
 * were seen before (`seen`, which gains the new ones), and all of their descendants, among `listed` or what lives now.
 * What drops its environment, its session and its parents before it is ever looked at cannot be found without a cgroup.
 * Nor can what dropped its environment alone, where all others of its session ended while no agent was there: by then
 * the number of the session may be a stranger's.
 */
export function membersOf(
  membership: Membership,
  listed: readonly ProcessEntry[] | null,
  seen: Set<string>,
): ProcessEntry[] {
  const processes = listed ?? listProcesses();
  const mark = `${EXECUTION_MARK}=${membership.execution}`;
  const shimMark = `${SHIM_MARK}=${membership.shim}`;
  const family = new Set(processes.filter((entry) => isMarked(entry, shimMark)).map((entry) => entry.pid));
  const members = new Map<number, ProcessEntry>();
  const take = (entry: ProcessEntry) => {
    if (members.has(entry.pid) || family.has(entry.pid) || entry.pid === process.pid) return false;
    members.set(entry.pid, entry);
    return true;
  };
  const isKnown = (entry: ProcessEntry) => isMarked(entry, mark) || seen.has(nameOf(entry));
  const inSession = processes.filter((entry) => entry.session === membership.shimPid);
  const isOwnSession = isSessionOf(membership, inSession, (entry) => family.has(entry.pid) || isKnown(entry));
  for (const entry of processes) if (isKnown(entry)) take(entry);
  if (isOwnSession) for (const entry of inSession) take(entry);
  for (let isGrowing = members.size > 0; isGrowing;) {
    isGrowing = false;
    for (const entry of processes) if (members.has(entry.parent) && take(entry)) isGrowing = true;
  }
  for (const entry of members.values()) seen.add(nameOf(entry));
  return [...members.values()];
}

/**
 * Whether those who bear the exec shim's number as their session are in the session that it led. After a reboot, in a
 * container that was started again, or when numbers come round, another process has that number and leads a session of
 * its own. A number is not given again while anybody is in its session: so one who is known there speaks for all, also
 * when the leader is dead. Where this agent saw the exec shim live, another leader alone speaks against it.
 */
function isSessionOf(
  { shimPid, isShimSeen }: Membership,
  inSession: readonly ProcessEntry[],
  isKnown: (entry: ProcessEntry) => boolean,
): boolean {
  return inSession.some(isKnown) || (isShimSeen && inSession.every((entry) => entry.pid !== shimPid));
}

/**
 * True when `pid` is the living exec shim that this agent, or the one before it, started as `shim`. A reused pid lacks
 * the mark.
 */
export function isShim(pid: number, shim: string): boolean {
  const entry = readProcess(pid);
  return entry !== null && isMarked(entry, `${SHIM_MARK}=${shim}`);
}

/**
 * That part of the exec shim which waits for the script and then writes the exit status, while it lives: of the shim's
 * children that bear its own mark, the one whose stdout is the pipe of the output. Null: it is not among `listed`.
 */
export function scriptWaiter(
  { shim, shimPid }: Pick<Membership, 'shim' | 'shimPid'>,
  listed: readonly ProcessEntry[],
): ProcessEntry | null {
  const shimMark = `${SHIM_MARK}=${shim}`;
  return listed.find((entry) => entry.parent === shimPid && isMarked(entry, shimMark) && isPiped(entry)) ?? null;
}

function isPiped({ pid }: ProcessEntry): boolean {
  try {
    return readlinkSync(`/proc/${pid}/fd/1`).startsWith('pipe:');
  } catch {
    return false; // it ended since it was listed
  }
}

/** Sends a signal; a process that is gone meanwhile has what it was to get. */
export function signal(entry: ProcessEntry, name: NodeJS.Signals): void {
  try {
    process.kill(entry.pid, name);
  } catch {
    // ESRCH: it ended by itself. EPERM: it became another user's (setuid) and is out of reach.
  }
}

/** Ends all of the group that `pid` leads. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it ended meanwhile
  }
}

function isMarked(entry: ProcessEntry, mark: string): boolean {
  return entry.environment.startsWith(`${mark}\0`) || entry.environment.includes(`\0${mark}\0`);
}

function nameOf(entry: ProcessEntry): string {
  return `${entry.pid}.${entry.startTicks}`;
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch (error) {
    if (isOutOfFiles(error)) throw error;
    return null; // it ended between the listing and the look, or is another user's
  }
}
