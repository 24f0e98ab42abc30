/** One run of the PostgreSQL server: found running, or started, and awaited until it answers. */
import { spawn, type ChildProcess } from 'node:child_process';
import { open, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { ensureAccess } from './access.ts';
import type { Binaries } from './binaries.ts';
import { isLost } from '../connections/availability.ts';
import { DatabaseClient } from '../connections/database-client.ts';
import { EmbeddedPostgresError, failureOf } from './failure.ts';
import { DATABASE_USER, runAs } from './initialisation.ts';
import { openLog, SOCKET_PORT, type Place } from './place.ts';

/** Name under which launchers connect: the server tells by it how many share it. */
export const LAUNCHER_NAME = 'edge-admin-launcher';

/** A connection held for as long as the server is wanted; `ended` resolves when it is gone, whoever ended it. */
export interface HeldConnection {
  readonly client: Client;
  readonly ended: Promise<void>;
}

/**
 * Connections that the server takes: DATABASE_POOL_MAX of an admin (10 unless set) and its four listeners, launchers
 * and people; and fifteen such admins at once, as tests have them.
 */
const CONNECTIONS_MAX = 250;

/** Pause between two looks at a server that is coming or going, in ms. It starts in 30 ms. */
const LOOK_INTERVAL_MS = 20;

/** Time one attempt to connect may take, in ms. */
const CONNECT_MS_MAX = 5_000;

/**
 * Durable above all: fsync, full page writes and synchronous commit stay on. Only lines about the server itself are
 * logged: statements and their errors hold what users stored.
 */
const PARAMETERS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  port: String(SOCKET_PORT),
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_connections: String(CONNECTIONS_MAX),
  shared_buffers: '128MB',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  huge_pages: 'off',
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  max_wal_senders: '0',
  wal_level: 'minimal',
  max_logical_replication_workers: '0',
  autovacuum_vacuum_scale_factor: '0.05',
  autovacuum_naptime: '20s',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  log_statement: 'none',
  log_parameter_max_length_on_error: '0',
  log_timezone: 'UTC',
  timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
};

/**
 * A connection to the server of this place, to one that is running already (left by an admin that was killed, or used
 * by another) as to one that is started now. Waits for recovery as long as it takes, until `signal` aborts.
 * Rejects with an `EmbeddedPostgresError` when it cannot run.
 */
export async function reachServer(
  place: Place,
  binaries: Binaries,
  signal: AbortSignal,
  onSlow: (what: string) => void,
): Promise<HeldConnection> {
  const began = Date.now();
  let reported = began;
  if (await ensureAccess(place, DATABASE_USER)) await reload(place);
  for (;;) {
    signal.throwIfAborted();
    const held = await connect(place);
    if (held) return held;

    if ((await runningPid(place)) === undefined) {
      const started = await startServer(place, binaries, signal);
      if (started) return started;
      await delay(100, undefined, { signal }); // an earlier server's processes are still ending
    } else {
      await delay(LOOK_INTERVAL_MS, undefined, { signal });
    }
    if (Date.now() - reported > 5_000) {
      reported = Date.now();
      onSlow(
        `PostgreSQL is not ready after ${Math.round((reported - began) / 1_000)} s: it is recovering, or an earlier one is still ending`,
      );
    }
  }
}

/** A server that runs reads its files anew. */
async function reload(place: Place): Promise<void> {
  const pid = await runningPid(place);
  if (pid !== undefined) signalProcess(pid, 'SIGHUP');
}

/** Starts the server and awaits it. Undefined when it could not start for a reason that passes by itself. */
async function startServer(place: Place, binaries: Binaries, signal: AbortSignal): Promise<HeldConnection | undefined> {
  const log = await openLog(place);
  try {
    const { size: logStart } = await log.stat();
    const args = [
      '-D',
      place.pgData,
      ...Object.entries({ ...PARAMETERS, unix_socket_directories: place.socketDir }).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ]),
    ];
    const child = spawn(binaries.postgres, args, {
      ...runAs(place),
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    child.unref();
    return await awaitServer(place, child, logStart, signal);
  } finally {
    await log.close();
  }
}

async function awaitServer(
  place: Place,
  child: ChildProcess,
  logStart: number,
  signal: AbortSignal,
): Promise<HeldConnection | undefined> {
  let spawnError: Error | undefined;
  child.once('error', (error) => {
    spawnError = error;
  });
  for (;;) {
    if (spawnError)
      throw new EmbeddedPostgresError(
        'binaries-missing',
        `PostgreSQL cannot be run (${spawnError.message}): run npm ci again, or set DATABASE_URL.`,
        spawnError,
      );
    if (child.exitCode !== null || child.signalCode !== null) {
      const failure = failureOf(await textFrom(place.logFile, logStart), place.pgData, place.logFile);
      if (failure.code === 'busy') return undefined;
      throw failure;
    }
    const held = await connect(place);
    if (held) return held;
    await delay(LOOK_INTERVAL_MS, undefined, { signal });
  }
}

/**
 * A connection to the server of this place; undefined while none answers. Refuses a server with other data.
 * The connection is what tells its holder at once that the server ended.
 */
async function connect(place: Place): Promise<HeldConnection | undefined> {
  const client = new DatabaseClient({
    host: place.socketDir,
    port: SOCKET_PORT,
    user: DATABASE_USER,
    database: 'postgres',
    application_name: LAUNCHER_NAME,
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  client.on('error', () => undefined); // `end` follows
  const ended = new Promise<void>((resolve) => {
    client.once('end', resolve);
  });
  try {
    await client.connect();
  } catch {
    await client.end().catch(() => undefined); // starting, stopping, full or absent: to be asked again
    return undefined;
  }
  const directory = await dataDirectory(client);
  if (directory === place.pgData) return { client, ended };
  await client.end();
  if (directory === undefined) return undefined;
  throw new EmbeddedPostgresError(
    'socket-taken',
    `A PostgreSQL with the data of ${directory} answers at ${place.socketDir}: end it, or set another DATA_DIR.`,
  );
}

/** Undefined: the server was lost before it said so. */
async function dataDirectory(client: Client): Promise<string | undefined> {
  try {
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    return rows[0]?.data_directory;
  } catch (error) {
    if (isLost(error)) return undefined;
    throw error;
  }
}

/**
 * Process id of the live server of this place, by its lock file. A lock file whose process is dead or another program's
 * (ids are used again after a reboot) is removed where PostgreSQL would stumble over it; that no process still uses the
 * data is checked by PostgreSQL itself, by its shared memory.
 */
export async function runningPid(place: Place): Promise<number | undefined> {
  const lockFile = join(place.pgData, 'postmaster.pid');
  const text = await readFile(lockFile, 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;

  const state = await processState(pid);
  if (state === undefined) return undefined;
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (state !== 'Z' && (cwd === place.pgData || (cwd === undefined && place.account !== undefined))) return pid;
  await rm(lockFile, { force: true });
  return undefined;
}

/** The state letter of a process, `Z` for one that ended and was not reaped; undefined when there is none. */
async function processState(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return text?.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3);
}

/**
 * Ends the server: open transactions are rolled back and a checkpoint is written. Forced after `waitMsMax`; then the
 * next start recovers.
 */
export async function endServer(place: Place, waitMsMax: number): Promise<void> {
  const pid = await runningPid(place);
  if (pid === undefined) return;
  signalProcess(pid, 'SIGINT');
  if (await gone(place, pid, waitMsMax)) return;
  signalProcess(pid, 'SIGQUIT');
  await gone(place, pid, 5_000);
}

async function gone(place: Place, pid: number, waitMsMax: number): Promise<boolean> {
  const until = Date.now() + waitMsMax;
  while ((await runningPid(place)) === pid) {
    if (Date.now() > until) return false;
    await delay(LOOK_INTERVAL_MS);
  }
  return true;
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it ended by itself in between
  }
}

async function textFrom(file: string, start: number): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const buffer = Buffer.alloc(16_384);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
