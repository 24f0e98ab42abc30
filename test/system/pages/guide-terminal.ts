/** A terminal as far as commands that are pasted into it can tell: one bash that keeps its variables and directory. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

/**
 * Blocks come by descriptor 3, so that a command which reads stdin reads what is typed for it. Each is followed by its
 * exit status.
 */
const LOOP = String.raw`exec 2>&1; while IFS= read -r -u 3 -d '' block; do eval "$block" 3<&-; printf '~ended %s~' "$?"; done`;

const END = /~ended (?<status>\d+)~/u;

/** Commands may take this long, in ms: each start of a program does on a busy machine. */
const BLOCK_MS_MAX = 60_000;

/** What a block printed, and its exit status; null: it goes on, or went on for too long. */
export interface Pasted {
  readonly status: number | null;
  readonly printed: string;
}

/** An open terminal. */
export class Terminal {
  readonly #child: ChildProcess;
  #output = '';

  /** `prefix` are words before bash, such as those of nsenter. What still runs in it ends with the scope. */
  constructor(scope: Scope, prefix: readonly string[], env: Readonly<Record<string, string>>, cwd: string) {
    const [command, ...words] = [...prefix, 'bash', '--norc', '-c', LOOP];
    this.#child = spawn(command, words, { env, cwd, detached: true, stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
    // it ended: what is written then is lost
    for (const stream of [this.#child.stdio[3], this.#child.stdin]) stream?.on('error', () => {});
    scope.teardown(() => this.#signal('SIGKILL'));
  }

  /** What was printed since it was opened. */
  get printed(): string {
    return this.#output.replaceAll(new RegExp(END, 'gu'), '');
  }

  /**
   * Pastes a block and waits for its end; null for a status: it did not come in time, or the terminal is gone. `typed`
   * is what is asked for.
   */
  async run(commands: string, typed: string | null): Promise<Pasted> {
    const from = this.#output.length;
    this.start(commands, typed);
    const end = await until(
      'the end of what was pasted',
      () => END.exec(this.#output.slice(from)) ?? this.#child.exitCode !== null,
      BLOCK_MS_MAX,
    ).catch(() => true as const);
    return end === true
      ? { status: null, printed: this.#output.slice(from) }
      : { status: Number(end.groups?.['status']), printed: this.#output.slice(from, from + end.index) };
  }

  /** Pastes a block that goes on. */
  start(commands: string, typed: string | null): void {
    (this.#child.stdio[3] as Writable).write(`${commands}\0`);
    if (typed !== null) this.#child.stdin?.write(`${typed}\n`);
  }

  /** Ctrl-C, and the end of what ran. */
  async interrupt(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    (this.#child.stdio[3] as Writable).end();
    this.#signal('SIGINT');
    await exited;
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
    } catch {
      // it ended by itself
    }
  }
}
