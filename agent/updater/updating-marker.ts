/** A file that tells the agent that the SIGTERM that follows is that of an update: its commands go on. */
import { accessSync, constants, rmSync } from 'node:fs';
import { writeDurably } from '../durable-file.ts';
import { systemProblem } from '../problem.ts';
import { UPDATING_FILE } from './layout.ts';
import type { UpdaterParts } from './parts.ts';
import { reasonOf, UpdateProblem } from './problem.ts';
import { RESTART_MS_MAX } from './service.ts';
import { agentFile, type UpdaterConfig } from './settings.ts';

/** Writes it. Throws an UpdateProblem where that cannot be done; an agent that never ran gets none. */
export function markUpdating({ config, nowMs }: UpdaterParts, from: string, to: string): void {
  try {
    writeDurably(
      agentFile(config, UPDATING_FILE),
      `${JSON.stringify({ from, to, until: nowMs() + RESTART_MS_MAX })}\n`,
    );
  } catch (error) {
    const problem = problemOf(config, error);
    if (problem !== null) throw new UpdateProblem(problem, { cause: error });
  }
}

/** The same on the way back, or for an agent that hangs: a disk that is full keeps neither. */
export function markIfPossible(parts: UpdaterParts, from: string, to: string): void {
  try {
    markUpdating(parts, from, to);
  } catch (error) {
    parts.log.error({ error: reasonOf(error) }, 'The agent may end its commands with its restart');
  }
}

/** Why it could not be written, as far as can be seen before; null: it could. */
export function markingProblem(config: UpdaterConfig): string | null {
  try {
    accessSync(config.UPDATER_AGENT_DATA_DIR, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return problemOf(config, error);
  }
}

/** Removes it once the restart is over. */
export function unmarkUpdating({ config, log }: UpdaterParts): void {
  try {
    rmSync(agentFile(config, UPDATING_FILE), { force: true });
  } catch (error) {
    log.warn({ error: systemProblem(error) }, 'The agent may take its next stop for that of an update');
  }
}

function problemOf({ UPDATER_AGENT_DATA_DIR: directory }: UpdaterConfig, error: unknown): string | null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null; // it never ran
  return `the agent cannot be told of the update: ${directory}: ${systemProblem(error)}`;
}
