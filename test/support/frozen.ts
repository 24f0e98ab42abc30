/** A process that stands still. */
import { readdir, readFile } from 'node:fs/promises';
import type { Program } from './fleet/program.ts';
import { until } from './until.ts';

/**
 * Freezes it, and waits until it is: the signal reaches one thread after another, and what runs meanwhile may still
 * answer. Linux only.
 */
export async function freeze(program: Program): Promise<void> {
  program.pause();
  const tasks = `/proc/${program.pid}/task`;
  await until(`process ${program.pid} to stand still`, async () => {
    const states = await Promise.all((await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/status`, 'utf8')));
    return states.every((status) => /^State:\s+T/mu.test(status));
  });
}
