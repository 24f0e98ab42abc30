/** Starts exec shims, and has one waiting ahead of need. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Interpreter } from './interpreter.ts';
import { SCRIPT_DIRECTORY, SHIM_FILES, SHIM_MARK, SHIM_SCRIPT } from './exec-shim-script.ts';
import { halfBytes } from '../output/output-limit.ts';
import { removeTree } from '../../removal.ts';

/** Bytes more than half of the output that are captured at either end: a cut may fall into a code point of 4 bytes. */
const HALF_SLACK_BYTES = 8;

/** PATH of a script where the agent itself has none. Source: the default of Debian's login. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** An exec shim that waits for its job. */
export interface ExecShim {
  /** Random; also the name of its directory. */
  readonly name: string;
  readonly directory: string;
  readonly child: ChildProcess;
  readonly pid: number;
}

/** Where exec shims live and what they may see. */
export interface ExecShimsOptions {
  /** Exists, and is the agent's own. */
  readonly directory: string;
  readonly outputBytesMax: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** What a script sees of the environment, besides its execution id. Nothing of the agent's own passes (E4). */
export function scriptEnvironment(node: string, inherited: NodeJS.ProcessEnv): Record<string, string> {
  const user = userInfo();
  return {
    PATH: inherited['PATH'] ?? DEFAULT_PATH,
    HOME: user.homedir || homedir(),
    USER: user.username,
    LOGNAME: user.username,
    SHELL: user.shell ?? '/bin/sh',
    LANG: inherited['LANG'] ?? 'C.UTF-8',
    TERM: 'dumb',
    EDGE_NODE_ID: node,
  };
}

/** Makes exec shims. Each has a directory of its own, which its owner removes. */
export class ExecShims {
  readonly #options: ExecShimsOptions;
  #parked: ExecShim | null = null;

  constructor(options: ExecShimsOptions) {
    this.#options = options;
  }

  /** Whether one waits. */
  get isParked(): boolean {
    return this.#parked !== null;
  }

  /** The waiting exec shim, or a new one. Throws when the system gives no directory or no process now. */
  take(): ExecShim {
    const parked = this.#parked;
    this.#parked = null;
    if (parked !== null && parked.child.exitCode === null && parked.child.signalCode === null) return parked;
    if (parked !== null) removeIdle(parked.directory);
    return this.#start();
  }

  /** Has an exec shim wait for the next execution. Without success there is none, and `take` will say why. */
  park(): void {
    if (this.#parked !== null) return;
    try {
      this.#parked = this.#start();
    } catch {
      this.#parked = null;
    }
  }

  /** Ends an exec shim that got no job, and removes its directory. */
  dismiss(shim: ExecShim): void {
    shim.child.stdin?.end();
    removeIdle(shim.directory);
  }

  /** Ends the waiting exec shim. */
  close(): void {
    if (this.#parked !== null) this.dismiss(this.#parked);
    this.#parked = null;
  }

  #start(): ExecShim {
    const name = randomBytes(12).toString('hex');
    const directory = join(this.#options.directory, name);
    mkdirSync(directory, { mode: 0o700 });
    try {
      // made ahead as well: filling a file is quicker than making one
      mkdirSync(join(directory, SCRIPT_DIRECTORY), { mode: 0o700 });
      closeSync(openSync(join(directory, SHIM_FILES.script), 'w', 0o700));
      writeFileSync(join(directory, SHIM_FILES.whole), '\n', { mode: 0o600 });
      const child = this.#spawn(name, directory);
      if (child.pid === undefined) throw new Error('the system gives no further process now');
      child.unref();
      (child.stdin as { unref?: () => void } | null)?.unref?.();
      return { name, directory, child, pid: child.pid };
    } catch (error) {
      removeIdle(directory);
      throw error;
    }
  }

  #spawn(name: string, directory: string): ChildProcess {
    const half = String(halfBytes(this.#options.outputBytesMax) + HALF_SLACK_BYTES);
    const child = spawn('/bin/sh', ['-c', SHIM_SCRIPT, 'edge-keeper', directory, half, half], {
      cwd: '/',
      env: { ...this.#options.environment, [SHIM_MARK]: name },
      // Its own session: signals to the agent's group do not reach it, and signals to its group do not reach the agent.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.on('error', () => {}); // said by the missing pid; without a listener it would end the agent
    child.stdin?.on('error', () => {}); // an exec shim that was killed: its exit says so
    return child;
  }
}

/**
 * Removes the directory of one that got no job, also while no file can be opened, which else leaves one at each try.
 */
function removeIdle(directory: string): void {
  try {
    for (const file of [SHIM_FILES.script, SHIM_FILES.whole, SHIM_FILES.first])
      rmSync(join(directory, file), { force: true });
    rmdirSync(join(directory, SCRIPT_DIRECTORY));
    rmdirSync(directory);
  } catch {
    removeTree(directory); // somebody put something else there
  }
}

/** Gives an exec shim its job. From here the process of the execution may exist. */
export function giveJob(shim: ExecShim, execution: string, interpreter: Interpreter, traceparent: string | null): void {
  shim.child.stdin?.end(`${execution}\n${interpreter.program}\n${interpreter.argument}\n${traceparent ?? ''}\n`);
}
