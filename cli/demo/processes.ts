/** The programs of the demo as processes of their own, which end with it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Problem } from '../problem.ts';

/** How long a program may take to stop, in ms, before it is killed. */
const STOP_MS_MAX = 15_000;

/** Lines of a log that explain why a program ended. */
const TOLD_LINES = 5;

/** What our programs need of the environment; settings of a real installation must not reach the demo. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE'] as const;

/** A program that the demo started. */
export interface RunningProgram {
  readonly name: string;
  readonly pid: number;
  /** How it ended, whoever ended it: the name of a signal, or `status 1`. */
  readonly ended: Promise<string>;
  /** Rejects when the program ends before it is stopped, with the end of its log. */
  readonly failed: Promise<never>;
  /** SIGTERM, then SIGKILL. Resolves when it has ended. */
  stop(): Promise<void>;
}

/**
 * Starts one of our programs with these settings; what it says goes to a log file. It has a process group of its own,
 * so that Ctrl-C reaches only the demo, which then ends all in order.
 */
export function startProgram(
  name: string,
  script: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  logFile: string,
): RunningProgram {
  const log = openSync(logFile, 'w', 0o600);
  const env = Object.fromEntries(
    PASSED_VARIABLES.flatMap((variable) =>
      process.env[variable] === undefined ? [] : [[variable, process.env[variable]]],
    ),
  );
  const child = spawn(process.execPath, [fileURLToPath(new URL(`../${script}`, import.meta.url)), ...args], {
    env: { ...env, ...settings },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);

  let stopping = false;
  const ended = once(child, 'exit').then(
    ([code, signal]) => (signal as string | null) ?? `status ${(code as number | null) ?? '?'}`,
  );
  const failed = ended.then((how) =>
    stopping
      ? new Promise<never>(() => {})
      : Promise.reject(new Problem(`${name} ended with ${how}: ${endOf(logFile)} (all of it: ${logFile})`)),
  );
  failed.catch(() => {}); // told by whoever waits for it; nobody may
  return {
    name,
    pid: child.pid ?? 0,
    ended,
    failed,
    async stop() {
      stopping = true;
      await stopChild(child, ended);
    },
  };
}

async function stopChild(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await ended;
  clearTimeout(timer);
}

function endOf(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n').slice(-TOLD_LINES);
  return lines.join(' | ') || 'it said nothing';
}
