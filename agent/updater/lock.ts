/** One change of the machine at a time, whoever makes it. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { UpdateProblem } from './problem.ts';

/** Another process changes something now. */
export class BusyProblem extends UpdateProblem {}

/** Held until it is released, or the process is gone. */
export interface Lock {
  release(): void;
}

/**
 * Takes the lock at once or throws a BusyProblem that names who has it. As the agent's, it is one of SQLite's on an
 * empty database: the system drops it with the process, so that none is ever stale. `holder` is for the message alone.
 */
export function takeLock(path: string, holder: string, nowMs: number): Lock {
  if (!existsSync(dirname(path)))
    throw new UpdateProblem(
      `there is no ${dirname(path)}: edge-updater bootstrap lays it out, and UPDATER_DIR names another place`,
    );
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode !== 5) throw error; // SQLITE_BUSY
    throw new BusyProblem(`another update runs (${holderText(holder)}): wait for its end, or ask: edge-updater status`);
  }
  chmodSync(path, 0o600);
  try {
    writeFileSync(holder, JSON.stringify({ pid: process.pid, since: new Date(nowMs).toISOString() }), { mode: 0o600 });
  } catch {
    // only for the other's message
  }
  return { release: () => database.close() };
}

function holderText(path: string): string {
  try {
    const { pid, since } = JSON.parse(readFileSync(path, 'utf8')) as { pid?: unknown; since?: unknown };
    return `process ${String(pid)}, since ${String(since)}`;
  } catch {
    return 'its process is not known';
  }
}
