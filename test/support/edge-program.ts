/** `edge` as a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { compileCache, programFile } from './programs.ts';

/** All that an `edge` said, and its exit status. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `edge`: `ended` resolves with all that it said. */
export interface RunningEdge {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts it. Nothing of this machine's own settings reaches it. With null for `stdin` that stays open. */
export function startEdge(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin: string | null = '',
): RunningEdge {
  const words = [programFile('edge'), ...args];
  const child = spawn(process.execPath, words, {
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...compileCache(words), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {}); // it may end before it has read all
  if (stdin !== null) child.stdin.end(stdin);
  const ended = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[status], stdout, stderr]): Ended => ({ status: status as number | null, stdout, stderr }),
  );
  return { process: child, ended };
}
