/** One execution whose start is recorded: it watches its exec shim, ends it on request, and says how it ended. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { EXIT_CANCELLED, EXIT_INTERRUPTED, EXIT_TIMED_OUT } from '../../transport/protocol/limits.ts';
import { CapturedOutput } from './output/captured-output.ts';
import { readStartLock, saysUnstarted } from './exec-shim/start-lock.ts';
import type { Ending } from './execution.ts';
import { readExitStatus } from './exec-shim/exit-status.ts';
import { notedMembers, notedReason, noteMembers, noteReason } from './stop-notes.ts';
import type { StopReason } from './stop-notes.ts';
import { halfBytes, storedOutput } from './output/output-limit.ts';
import { isOutOfFiles } from '../problem.ts';
import { isShim, killGroup, listProcesses, lives, membersOf, signal, type ProcessEntry } from './processes.ts';
import { ScriptWait } from './script-wait.ts';

/** Between TERM and KILL, in ms. Source: docs/commands.md. */
export const KILL_AFTER_MS = 5_000;

/**
 * After KILL an execution that still does not end is given up on, exec shim and all, in ms. What lives of it even then,
 * in an uninterruptible sleep or as another user's, is looked at less often.
 */
const GIVE_UP_AFTER_MS = 5_000;

/** Between two tries to end what KILL does not end, in ms. */
export const CHECK_STUCK_MS = 1_000;

/**
 * The script has ended but something in the background holds its output open: the result waits for output in the pipe
 * this long, in ms, and at most so long.
 */
const LINGER_MS = 500;
const LINGER_MS_MAX = 2_000;

/** An exec shim that made its start lock has also written it within this time, in ms. */
const START_LOCK_MS_MAX = 2_000;

/** Stopping again what keeps multiplying: rounds of STOP before KILL in one sweep. */
const SWEEP_ROUNDS_MAX = 50;

/** What is known of an execution when it is watched. */
export interface RunningOptions {
  readonly execution: ExecutionId;
  readonly shim: string;
  readonly directory: string;
  /** Process id of the exec shim when this agent started it; null to learn it from its start lock. */
  readonly pid: number | null;
  readonly deadlineMs: number | null;
  readonly outputBytesMax: number;
  /** As delivered; null: nobody traces it. */
  readonly traceparent: string | null;
  /** Of the machine as it runs now. */
  readonly bootId: string;
  readonly nowMs: () => number;
}

/** Ticked by its owner. Everything it does to processes happens in `check`. */
export class RunningExecution {
  readonly execution: ExecutionId;
  readonly directory: string;
  readonly captured: CapturedOutput;
  readonly traceparent: string | null;
  readonly #options: RunningOptions;
  readonly #bornMs: number;
  readonly #seen: Set<string>;
  readonly #asked = new Set<string>();
  readonly #scriptWait = new ScriptWait();
  #members: readonly ProcessEntry[] = [];
  #shimPid: number | null;
  #isShimSeen: boolean;
  #exit: { readonly signal: number | null } | null = null;
  #reason: StopReason | null = null;
  /** Its timeout is over: it is ended as soon as it is seen to run still. */
  #isOverdue = false;
  /** Why it was to be ended while nobody could see whether it was over by itself. */
  #unsure: StopReason | null = null;
  #killAtMs = 0;
  /** When those that KILL does not end are looked for again; 0: there are none. */
  #againMs = 0;
  #lingering: { readonly sinceMs: number; length: number } | null = null;
  #isOver = false;

  constructor(options: RunningOptions) {
    this.#options = options;
    this.execution = options.execution;
    this.directory = options.directory;
    this.traceparent = options.traceparent;
    this.captured = new CapturedOutput(options.directory);
    this.#shimPid = options.pid;
    this.#isShimSeen = options.pid !== null;
    // of what this agent starts no other one has noted anything
    this.#seen = this.#isShimSeen ? new Set() : notedMembers(options.directory, options.bootId);
    this.#bornMs = options.nowMs();
    this.#reason = this.#isShimSeen ? null : notedReason(options.directory);
    this.#killAtMs = this.#bornMs + KILL_AFTER_MS;
  }

  /** True while it is being ended: it wants to be checked often. What is over waits for its end to be stored alone. */
  get isStopping(): boolean {
    return !this.#isOver && this.#reason !== null;
  }

  /** True when nobody wants its result. */
  get isSettled(): boolean {
    return this.#reason === 'settle';
  }

  /** Its process never was, by the word of its exec shim, a child of this agent; nor has it timed out then. */
  get isUnstarted(): boolean {
    if (this.#reason !== 'lost' && this.#reason !== 'timeout') return false;
    return saysUnstarted(this.directory, this.#exit?.signal ?? null);
  }

  /** For how long it is watched, in ms. */
  get ageMs(): number {
    return this.#options.nowMs() - this.#bornMs;
  }

  /** Processes of it that live on although they were killed long ago. */
  get stuck(): readonly number[] {
    return this.#againMs === 0 ? [] : this.#members.map(({ pid }) => pid);
  }

  /**
   * When its timeout ends it; null once it is over, or a look came behind that. Null as well until it was seen live:
   * what a power cut interrupted did not time out.
   */
  get deadlineMs(): number | null {
    if (this.#isOver || this.#isOverdue || this.#reason !== null) return null;
    return this.#isShimSeen ? this.#options.deadlineMs : null;
  }

  /** The exec shim, a child of this agent, ended; `signal` is its number when one killed it. */
  shimExited(signal: number | null): void {
    this.#exit = { signal };
  }

  /** Ends it: TERM now, KILL after KILL_AFTER_MS. One that is over by itself stays as it ended. */
  stop(reason: StopReason): void {
    if (reason === 'settle' && this.#reason !== null) {
      this.#reason = 'settle';
      noteReason(this.directory, reason);
      return;
    }
    if (reason === 'cancel' && this.isUnstarted) this.#reason = reason; // else it would be started later
    if (this.#reason !== null || (reason !== 'settle' && this.#isOverByItself(reason))) return;
    this.#reason = reason;
    this.#killAtMs = this.#options.nowMs() + (reason === 'lost' ? 0 : KILL_AFTER_MS);
    if (reason !== 'lost') noteReason(this.directory, reason);
  }

  /**
   * Looks at it; true when it is over and no process of it lives. `processes` lists them, at most once a tick. Throws
   * while no file can be opened: look again.
   */
  check(processes: () => readonly ProcessEntry[]): boolean {
    if (this.#isOver) return true;
    const nowMs = this.#options.nowMs();
    this.#isOverdue ||= this.deadlineMs !== null && nowMs >= this.deadlineMs;
    const isGone = this.#isShimGone(nowMs);
    const status = this.#ownStatus(isGone, processes);
    if (this.#unsure !== null) this.stop(this.#unsure);
    if (status === null && this.#isOverdue) this.stop('timeout');
    if (status === null && this.#reason === null && isGone) this.stop('lost');
    const hasEnded = isGone || (status !== null && this.#isDrained(nowMs));
    if (this.#reason === null) this.#isOver = hasEnded;
    else this.#isOver = this.#areMembersGone(processes, nowMs) && (hasEnded || this.#isHopeless(nowMs));
    return this.#isOver;
  }

  /** How it ended, once `check` said so. Reads the output: once. */
  ending(): Ending {
    const { outputBytesMax } = this.#options;
    const { output, isCut } = storedOutput(
      this.captured.ends(outputBytesMax, halfBytes(outputBytesMax) + 4),
      outputBytesMax,
    );
    return { execution: this.execution, ...this.#outcome(), output, outputTruncated: isCut || this.captured.hasLoss };
  }

  #outcome(): Pick<Ending, 'outcome' | 'exitCode'> {
    if (this.#reason === 'timeout') return { outcome: 'completed', exitCode: EXIT_TIMED_OUT };
    if (this.#reason === 'cancel' || this.#reason === 'settle')
      return { outcome: 'cancelled', exitCode: EXIT_CANCELLED };
    const status = readExitStatus(this.directory);
    if (status !== null) return { outcome: 'completed', exitCode: status };
    // The exec shim was killed under our eyes: by its own script (`kill -9 0`) or the kernel, so that signal ended the
    // execution.
    const seen = this.isUnstarted ? null : (this.#exit?.signal ?? null);
    return seen === null
      ? { outcome: 'cancelled', exitCode: EXIT_INTERRUPTED }
      : { outcome: 'completed', exitCode: 128 + seen };
  }

  #isShimGone(nowMs: number): boolean {
    if (this.#exit !== null) return true;
    if (this.#options.pid !== null) return false; // a child: its exit will be told
    this.#shimPid ??= readStartLock(this.directory)?.pid ?? null;
    if (this.#shimPid === null) return nowMs - this.#bornMs > START_LOCK_MS_MAX;
    const isAlive = isShim(this.#shimPid, this.#options.shim);
    this.#isShimSeen ||= isAlive;
    return !isAlive;
  }

  #isOverByItself(reason: StopReason): boolean {
    try {
      const isOver = this.#ownStatus(this.#isShimGone(this.#options.nowMs()), listProcesses) !== null;
      this.#unsure = null;
      return isOver;
    } catch (error) {
      if (!isOutOfFiles(error)) throw error;
      this.#unsure = reason;
      return true; // the next look knows
    }
  }

  /**
   * The script's own exit status, once it has one. A script of an agent of before may have a file of its own where its
   * exec shim writes that: it counts from when the exec shim has written.
   */
  #ownStatus(isGone: boolean, processes: () => readonly ProcessEntry[]): number | null {
    const status = readExitStatus(this.directory);
    if (status === null || isGone) return status;
    const { shim } = this.#options;
    return this.#shimPid === null || this.#scriptWait.lasts({ shim, shimPid: this.#shimPid }, processes)
      ? null
      : status;
  }

  /**
   * What the script wrote before it ended is in the files, although a process that it left behind keeps the pipe open.
   */
  #isDrained(nowMs: number): boolean {
    const { length } = this.captured;
    this.#lingering ??= { sinceMs: nowMs, length };
    const forMs = nowMs - this.#lingering.sinceMs;
    const isQuiet = this.#lingering.length === length;
    this.#lingering.length = length;
    return forMs >= LINGER_MS_MAX || (forMs >= LINGER_MS && isQuiet);
  }

  #areMembersGone(processes: () => readonly ProcessEntry[], nowMs: number): boolean {
    const isDue = nowMs >= this.#killAtMs;
    // While those that were asked to end, or cannot be ended, still live there is no need to look through all of /proc.
    if ((!isDue || nowMs < this.#againMs) && this.#members.some(lives)) return false;
    const seenBefore = this.#seen.size;
    this.#members = this.#look(processes());
    this.#againMs = 0;
    if (this.#members.length === 0) return true;
    const isGrowing = this.#seen.size > seenBefore;
    if (isGrowing) noteMembers(this.directory, this.#options.bootId, this.#seen);
    if (!isGrowing && nowMs >= this.#killAtMs + GIVE_UP_AFTER_MS) {
      this.#againMs = nowMs + CHECK_STUCK_MS;
      for (const member of this.#members) signal(member, 'SIGKILL');
    } else if (isDue) sweep(this.#members, () => this.#look(null));
    else this.#ask();
    return false;
  }

  #ask(): void {
    for (const member of this.#members) {
      const name = `${member.pid}.${member.startTicks}`;
      if (this.#asked.has(name)) continue;
      this.#asked.add(name);
      signal(member, 'SIGTERM');
      signal(member, 'SIGCONT'); // a stopped process would not even notice
    }
  }

  #look(processes: readonly ProcessEntry[] | null): ProcessEntry[] {
    const { execution, shim } = this.#options;
    const membership = { execution, shim, shimPid: this.#shimPid, isShimSeen: this.#isShimSeen };
    return membersOf(membership, processes, this.#seen);
  }

  /** Nothing lives, and still no status: something kept the exec shim from writing it. */
  #isHopeless(nowMs: number): boolean {
    if (nowMs < this.#killAtMs + GIVE_UP_AFTER_MS) return false;
    if (this.#shimPid !== null && isShim(this.#shimPid, this.#options.shim)) killGroup(this.#shimPid);
    return true;
  }
}

/** STOP first: what is stopped cannot fork while the rest is looked for. Then KILL all. */
function sweep(found: readonly ProcessEntry[], look: () => ProcessEntry[]): void {
  let members = found;
  try {
    for (let round = 0; round < SWEEP_ROUNDS_MAX; round += 1) {
      for (const member of members) signal(member, 'SIGSTOP');
      const again = look();
      const isComplete = again.length <= members.length;
      members = again;
      if (isComplete) break;
    }
  } finally {
    for (const member of members) signal(member, 'SIGKILL'); // also where no further look can be had
  }
}
