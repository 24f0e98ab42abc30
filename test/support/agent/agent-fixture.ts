/** A real agent at an admin that does only what the test says, over all of the agent's runs. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { SHIM_MARK } from '../../../agent/execution/exec-shim/exec-shim-script.ts';
import { listProcesses, type ProcessEntry } from '../../../agent/execution/processes.ts';
import type { Delivery } from '../../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../../transport/protocol/ids.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';
import { AdminDouble, type DoubleHabits, type DoubleSession } from './admin-double.ts';
import { AgentProcess } from './agent-process.ts';
import type { Exit } from '../fleet/program.ts';

/** Files of the journal. The log of SQLite as well: SQLite would mend the database from what is still in it. */
export const JOURNAL_FILES = ['journal.db', 'journal.db-wal'] as const;

/** What `enrolls` of a double answers for a refusal. */
export function refusal(status: number, code: string, message = 'bad'): { status: number; body: unknown } {
  return { status, body: { error: { code, message, details: null }, meta: {} } };
}

/** Resolves when a line of its log is like this. */
export async function logged(agent: AgentProcess, pattern: RegExp): Promise<void> {
  await until(`a line of the log like ${pattern.source}`, () => pattern.test(agent.log));
}

/** Processes that run for an execution. */
export function processesOf(execution: ExecutionId): readonly unknown[] {
  return listProcesses().filter((entry) => entry.environment.includes(execution));
}

/** What the kernel says of a process behind its name, as of state and parent. Source: proc_pid_stat(5). */
function statOf(pid: number | undefined): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** A process's letter in /proc: `T` for one that is stopped, `Z` for one that ended and is not reaped yet. */
export function stateOf(pid: number | undefined): string {
  try {
    return statOf(pid)[0] ?? '';
  } catch {
    return 'gone';
  }
}

/** An agent, its admin, and what its scripts write. */
export class AgentFixture {
  readonly admin: AdminDouble;
  /** A directory of the test's own, for its scripts. */
  readonly directory: string;
  /** Of every run, unless a test gives others. */
  readonly settings: Readonly<Record<string, string>>;
  readonly dataDirectory: string;
  readonly #t: ExecutionContext;
  #agent: AgentProcess | undefined;

  private constructor(t: ExecutionContext, admin: AdminDouble, settings: Readonly<Record<string, string>>) {
    this.#t = t;
    this.admin = admin;
    this.directory = temporaryDirectory(t);
    this.dataDirectory = join(this.directory, 'data');
    this.settings = { ENROLLMENT_KEY: admin.key(), AGENT_DATA_DIR: this.dataDirectory, ...settings };
  }

  /** An admin, and an agent that was not started. */
  static async prepare(
    t: ExecutionContext,
    habits: DoubleHabits = {},
    settings: Readonly<Record<string, string>> = {},
  ): Promise<AgentFixture> {
    const admin = await AdminDouble.start(habits);
    t.teardown(() => admin.close());
    return new AgentFixture(t, admin, settings);
  }

  /** The same with an agent that is enrolled, and its first session. */
  static async open(
    t: ExecutionContext,
    habits: DoubleHabits = {},
    settings: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly fixture: AgentFixture; readonly admin: AdminDouble; readonly session: DoubleSession }> {
    const fixture = await AgentFixture.prepare(t, habits, settings);
    fixture.start();
    return { fixture, admin: fixture.admin, session: await fixture.admin.session() };
  }

  /** The run of now. */
  get agent(): AgentProcess {
    if (this.#agent === undefined) throw new Error('the agent was not started');
    return this.#agent;
  }

  /** Starts a run, with more settings if given, and of another version if its file is. */
  start(more: Readonly<Record<string, string>> = {}, words?: readonly string[], file?: string): AgentProcess {
    this.#agent = AgentProcess.start(this.#t, { ...this.settings, ...more }, words, file);
    return this.#agent;
  }

  /** As `kill -9`; resolves when it has ended. */
  async kill(): Promise<void> {
    this.agent.kill();
    await this.agent.ended();
  }

  /** As systemd ends it. Resolves with how it ended. */
  async terminate(): Promise<Exit> {
    this.agent.terminate();
    return this.agent.ended();
  }

  /** Sends a script, and resolves with its id when the agent has taken it. */
  async taken(session: DoubleSession, script: string, more: Partial<Delivery> = {}): Promise<ExecutionId> {
    const before = session.of('acknowledge').length;
    const execution = this.admin.deliver(session, script, more);
    await this.acknowledged(session, before + 1);
    return execution;
  }

  /** Resolves when so many deliveries, or more, were acknowledged in this session. */
  async acknowledged(session: DoubleSession, count: number): Promise<void> {
    await this.admin.until(`${count} acknowledgements`, () => session.of('acknowledge').length >= count);
  }

  /** A file to which scripts write lines. */
  get ledger(): string {
    return join(this.directory, 'ledger');
  }

  /** The lines that scripts wrote. */
  lines(): readonly string[] {
    return existsSync(this.ledger) ? readFileSync(this.ledger, 'utf8').split('\n').filter(Boolean) : [];
  }

  /** Resolves when there are so many, or more. */
  async wrote(count: number): Promise<void> {
    await until(`${count} lines`, () => this.lines().length >= count);
  }

  /** What a script does until `letGo`: this once more and once more. */
  waiting(meanwhile = ':'): string {
    return `while [ ! -e ${this.directory}/go ]; do ${meanwhile}; sleep 0.02; done`;
  }

  letGo(): void {
    writeFileSync(join(this.directory, 'go'), '');
  }

  /** What a script does so that its exec shim can be killed. */
  notingShim(): string {
    return `echo $PPID >${this.directory}/shim`;
  }

  /** Kills the noted exec shim with all that it runs, as when the machine goes down: it leads their group. */
  async killShim(): Promise<void> {
    const file = join(this.directory, 'shim');
    const pid = await until(
      'the exec shim',
      () => Number(/^(\d+)\n/u.exec(readFileSync(file, 'utf8'))?.[1] ?? 0) || null,
    );
    process.kill(-Number(statOf(pid)[2]), 'SIGKILL');
  }

  /** Kills the exec shims of this machine, and nothing of what they run. */
  killShimsAlone(): void {
    for (const { pid } of this.#shims()) process.kill(pid, 'SIGKILL');
  }

  /** Resolves when no exec shim of this machine lives. */
  async shimsEnded(): Promise<void> {
    await until('the end of the exec shims', () => this.#shims().length === 0);
  }

  #shims(): readonly ProcessEntry[] {
    const marks = readdirSync(join(this.dataDirectory, 'keepers')).map((name) => `${SHIM_MARK}=${name}\0`);
    return listProcesses().filter(({ environment }) => marks.some((mark) => environment.includes(mark)));
  }

  /** Overwrites files of the agent. */
  damage(files: readonly string[]): void {
    for (const file of files)
      writeFileSync(
        join(this.dataDirectory, file),
        'this is no database, and long enough to be taken for one'.repeat(100),
      );
  }

  /** What the agent knows of itself, as its disk has it. */
  identity(): string {
    return readFileSync(join(this.dataDirectory, 'identity.json'), 'utf8');
  }
}
