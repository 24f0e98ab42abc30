/** Where the updater keeps what: the directory of versions that docs/architecture/self-updates.md shows. */
import { join } from 'node:path';

/** Paths below UPDATER_DIR. */
export interface Layout {
  readonly directory: string;
  /** The link by which the services start: to a directory of `versions`. */
  readonly current: string;
  /** The link to the version before it. */
  readonly previous: string;
  readonly versions: string;
  readonly runtimes: string;
  /** Files on their way here. */
  readonly downloads: string;
  /** Metadata that was verified last; its root.json is what this machine trusts. */
  readonly trust: string;
  readonly state: string;
  readonly token: string;
  /** Locked while something is changed, and who has it, for messages. */
  readonly lock: string;
  readonly lockHolder: string;
  /** One line a start of the agent, written by the launcher: the boot, and the uptime in s. */
  readonly agentStarts: string;
  /** Starts of an updater that did not come up, counted by the launcher. */
  readonly updaterStarts: string;
  /**
   * Touched by an updater that has not come up or has something under way; the launcher ends one that stops doing so.
   */
  readonly updaterAlive: string;
  /** One line a version whose hashes were looked at since the boot that it names. */
  readonly verified: string;
}

/** The paths below this directory. */
export function layoutOf(directory: string): Layout {
  return {
    directory,
    current: join(directory, 'current'),
    previous: join(directory, 'previous'),
    versions: join(directory, 'versions'),
    runtimes: join(directory, 'runtimes'),
    downloads: join(directory, 'downloads'),
    trust: join(directory, 'trust'),
    state: join(directory, 'state.json'),
    token: join(directory, 'token'),
    lock: join(directory, 'lock'),
    lockHolder: join(directory, 'lock.json'),
    agentStarts: join(directory, 'starts-agent'),
    updaterStarts: join(directory, 'starts-updater'),
    updaterAlive: join(directory, 'updater-alive'),
    verified: join(directory, 'verified'),
  };
}

/** Files of a version besides those of its release: the release itself, and what the launcher checks. */
export const RELEASE_FILE = 'release.json';
export const MANIFEST_FILE = 'manifest';

/** The link of a version to its runtime's directory, and the program in there. */
export const RUNTIME_LINK = 'runtime';
export const RUNTIME_FILE = 'node';

/** Compiled code of a version, kept with it so that a start after an update is as fast as any. */
export const CODE_CACHE = 'code-cache';

/** Files in the agent's data directory. Source: docs/architecture/self-updates.md. */
export const HEALTH_FILE = 'health.json';
export const UPDATING_FILE = 'updating.json';
