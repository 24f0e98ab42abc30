/** A person at OpenSSH. */
import { spawn as spawnTerminal } from '@lydell/node-pty';
import type { ExecutionContext } from 'ava';
import { until } from '../until.ts';
import type { SshServerFixture } from './ssh-fixture.ts';

/** OpenSSH in a terminal of its own, as a person has it. */
export function person(
  t: ExecutionContext,
  fixture: SshServerFixture,
  words: readonly string[],
  size = { cols: 91, rows: 33 },
) {
  const terminal = spawnTerminal('ssh', [...words], {
    name: 'xterm-256color',
    ...size,
    env: { PATH: process.env['PATH'], HOME: fixture.directory, LC_ALL: 'C.UTF-8' },
    cwd: fixture.directory,
  });
  let seen = '';
  terminal.onData((text) => {
    seen += text;
  });
  const ended = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode }) => resolve(exitCode));
  });
  t.teardown(() => terminal.kill());
  return {
    terminal,
    ended,
    seen: () => seen,
    sees: async (pattern: RegExp) =>
      until(`the screen shows ${pattern}`, () => pattern.exec(seen), 10_000).catch((error: unknown) => {
        throw new Error(seen, { cause: error });
      }),
  };
}
