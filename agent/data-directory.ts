/** The agent's directory: made, private, and used by one agent at a time. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDirectories } from './directories.ts';
import { AgentProblem, EXIT_STATUS, systemProblem } from './problem.ts';
import { removeFile } from './removal.ts';

/** Names of the files of the identity, of the journal, and of what this machine ran before. */
export const IDENTITY_FILE = 'identity.json';
export const JOURNAL_FILE = 'journal.db';
export const LEDGER_FILE = 'executions.ledger';

/**
 * Names of the files of the SSH host key, of WireGuard's key, of Netmaker's network, and of the process and the API's
 * port of the agent that runs.
 */
export const SSH_HOST_KEY_FILE = 'ssh-host-key';
export const VPN_KEYS_FILE = 'mesh-keys.json';
export const NETMAKER_FILE = 'netmaker.json';
export const PID_FILE = 'agent.pid';
export const API_PORT_FILE = 'api-port';

/**
 * What an agent and the updater of its machine say to each other by files, and the file by which an operator keeps the
 * machine at its version. Source: docs/architecture/self-updates.md.
 */
export const HEALTH_FILE = 'health.json';
export const UPDATING_FILE = 'updating.json';
export const PIN_FILE = 'update-pinned';

/** Paths in it. */
export interface DataDirectory {
  readonly path: string;
  readonly lock: string;
  readonly identity: string;
  readonly journal: string;
  /** What this machine ran, for longer than the journal knows. */
  readonly ledger: string;
  readonly shims: string;
  readonly sshHostKey: string;
  readonly sshRecordings: string;
  /** Logins that no admin answered. */
  readonly sshUnanswered: string;
  /** The key of WireGuard, and the VPN as it was told last. */
  readonly vpnKeys: string;
  readonly vpnNetworkMap: string;
  /** The relay map that was usable last. */
  readonly relayMap: string;
  /** Where the agent listens for `edge-agent doctor`. */
  readonly apiPort: string;
  /** Which self-update requests this machine was asked for, and what came of them. */
  readonly updates: string;
  readonly health: string;
  readonly updating: string;
  readonly pin: string;
  /** Lets the next agent in. The death of this one does as well. */
  release(): void;
}

/**
 * Opens the directory for this process alone, 0700. The lock is one of SQLite's on an empty database: the system drops
 * it with the process, so that no stale lock is ever in the way. Throws an `AgentProblem` that names the other agent's
 * process.
 */
export function openDataDirectory(path: string): DataDirectory {
  const pidFile = join(path, PID_FILE);
  const lockFile = join(path, 'lock');
  let lock: DatabaseSync;
  try {
    makeDirectories(path);
    chmodSync(path, 0o700);
    lock = takeLock(lockFile);
  } catch (error) {
    if (isBusy(error))
      throw new AgentProblem(
        `AGENT_DATA_DIR ${path} is in use by another agent (process ${otherPid(pidFile)}): stop it, or give this one a directory of its own`,
        EXIT_STATUS.failed,
      );
    throw new AgentProblem(`AGENT_DATA_DIR ${path} cannot be used: ${systemProblem(error)}`, EXIT_STATUS.failed);
  }
  try {
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  } catch {
    // only for the other agent's message
  }
  removeFile(join(path, API_PORT_FILE)); // of an agent that was killed: another program may have its port
  return {
    path,
    lock: lockFile,
    identity: join(path, IDENTITY_FILE),
    journal: join(path, JOURNAL_FILE),
    ledger: join(path, LEDGER_FILE),
    shims: join(path, 'keepers'), // as older agents named it: what they left there is taken up after an update
    sshHostKey: join(path, SSH_HOST_KEY_FILE),
    sshUnanswered: join(path, 'ssh-unanswered.json'),
    sshRecordings: join(path, 'ssh-recordings'),
    vpnKeys: join(path, VPN_KEYS_FILE),
    vpnNetworkMap: join(path, 'mesh-network.json'),
    relayMap: join(path, 'relay-map.json'),
    apiPort: join(path, API_PORT_FILE),
    updates: join(path, 'updates.json'),
    health: join(path, HEALTH_FILE),
    updating: join(path, UPDATING_FILE),
    pin: join(path, PIN_FILE),
    release() {
      removeFile(pidFile);
      lock.close();
    },
  };
}

function takeLock(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    chmodSync(path, 0o600);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === 5; // SQLITE_BUSY
}

function otherPid(pidFile: string): string {
  try {
    return readFileSync(pidFile, 'utf8').trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}
