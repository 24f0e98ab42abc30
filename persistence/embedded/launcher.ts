/** The PostgreSQL that an admin brings along: started, adopted, supervised and stopped. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../transport/net/log.ts';
import { isLost } from '../connections/availability.ts';
import { findBinaries, type Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './failure.ts';
import { DATABASE_USER, ensureInitialised } from './initialisation.ts';
import { preparePlace, SOCKET_PORT, type Place } from './place.ts';
import { endServer, LAUNCHER_NAME, reachServer, runningPid, type HeldConnection } from './server.ts';

/** Name of the database that the admin uses. */
const DATABASE = 'edge';

/** Back-off between two attempts to bring a lost server back, in ms. */
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 5_000;

/** Time a server may take to start when nobody waits for recovery, in ms. */
const START_MS_MAX = 300_000;

/** Time a stop may take before it is forced, in ms. */
const STOP_MS_MAX = 15_000;

/** A running PostgreSQL. */
export interface EmbeddedPostgres {
  /** For `pg` and MikroORM: the host is the directory of a Unix socket. Stays the same over restarts of the server. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  /** Process id of the server now; undefined while it is being restarted. */
  pid(): Promise<number | undefined>;
  /** Ends the server, unless another admin uses it too. Calling it again changes nothing. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL on `dataDir`, or takes over the one that runs there already. While it is held, a server that dies
 * is started again, with back-off, for ever. Rejects with an `EmbeddedPostgresError` whose message is for the operator.
 * `sharedDir` is where root keeps what the account that runs PostgreSQL cannot reach in `dataDir`.
 */
export async function startEmbeddedPostgres(options: {
  readonly dataDir: string;
  readonly log: Log;
  readonly sharedDir?: string;
}): Promise<EmbeddedPostgres> {
  const { log } = options;
  const place = await preparePlace(options.dataDir, options.sharedDir);
  if (!place.pgData.startsWith(place.dataDir)) {
    log.info(
      { pg_data: place.pgData },
      `PostgreSQL keeps its data in ${place.pgData}, since the user ${place.account?.name} cannot enter ${place.dataDir}`,
    );
  }
  const binaries = await findBinaries(place.account, place.sharedDir);
  const made = await ensureInitialised(place, binaries);

  const closing = new AbortController();
  let held = await firstHeld(place, binaries, closing.signal, log);
  while (!(await ensureDatabase(held))) held = await firstHeld(place, binaries, closing.signal, log);
  log.info({ pid: await runningPid(place), data: made, pg_data: place.pgData }, 'PostgreSQL is ready');

  const supervision = supervise();
  let stopping: Promise<void> | undefined;
  return {
    connection: { host: place.socketDir, port: SOCKET_PORT, user: DATABASE_USER, database: DATABASE },
    pid: () => runningPid(place),
    stop: () => (stopping ??= stop()),
  };

  async function supervise(): Promise<void> {
    for (;;) {
      await held.ended;
      if (closing.signal.aborted) return;
      log.warn({}, 'PostgreSQL ended unexpectedly; it is started again');
      const again = await restarted(place, binaries, closing.signal, log);
      if (again === undefined) return;
      held = again;
      if (closing.signal.aborted) {
        // it answered just when it was no longer wanted: nobody else knows of this connection
        await held.client.end().catch(() => undefined);
        return;
      }
      log.info({ pid: await runningPid(place) }, 'PostgreSQL is ready again');
    }
  }

  async function stop(): Promise<void> {
    const shared = await othersUse(held);
    closing.abort();
    await held.client.end().catch(() => undefined); // it may have ended already
    await supervision;
    if (shared) log.info({}, 'PostgreSQL is left running: another admin uses it');
    else await endServer(place, STOP_MS_MAX);
  }
}

async function firstHeld(place: Place, binaries: Binaries, closing: AbortSignal, log: Log): Promise<HeldConnection> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(START_MS_MAX)]);
  try {
    return await reachServer(place, binaries, signal, (what) => {
      log.warn({}, what);
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new EmbeddedPostgresError(
      'timeout',
      `The embedded PostgreSQL was not ready within ${START_MS_MAX / 1_000} s: see ${place.logFile}.`,
      error,
    );
  }
}

/** A connection to the server once it is back; undefined when it is no longer wanted. */
async function restarted(
  place: Place,
  binaries: Binaries,
  signal: AbortSignal,
  log: Log,
): Promise<HeldConnection | undefined> {
  for (let pauseMs = RESTART_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, RESTART_MS_MAX)) {
    try {
      return await reachServer(place, binaries, signal, (what) => {
        log.warn({}, what);
      });
    } catch (error) {
      if (signal.aborted) return undefined;
      log.error(
        { retry_ms: pauseMs },
        error instanceof EmbeddedPostgresError ? error.message : `PostgreSQL does not start: ${String(error)}`,
      );
      await delay(pauseMs, undefined, { signal }).catch(() => undefined); // the next attempt sees the abort
    }
  }
}

/** False: the server was lost before it had it. */
async function ensureDatabase({ client }: HeldConnection): Promise<boolean> {
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount !== 1)
      await client.query(`CREATE DATABASE ${DATABASE}`).catch((error: { code?: string }) => {
        if (error.code !== '42P04' && error.code !== '23505') throw error; // else another admin was faster
      });
    return true;
  } catch (error) {
    if (!isLost(error)) throw error;
    await client.end();
    return false;
  }
}

/** Whether other launchers hold this server. One that is gone or silent counts as not shared. */
async function othersUse(held: HeldConnection): Promise<boolean> {
  const asked = held.client
    .query('SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()', [LAUNCHER_NAME])
    .then(
      (result) => (result.rowCount ?? 0) > 0,
      () => false,
    );
  return Promise.race([asked, delay(2_000, false, { ref: false })]);
}
