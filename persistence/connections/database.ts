/**
 * Connections to PostgreSQL: MikroORM for entities, migrations and cold paths, a `pg` pool for hot ones. Every call
 * ends within 5 s (L3).
 */
import { defineConfig, MikroORM } from '@mikro-orm/postgresql';
import { Pool, type Client, type ClientBase, type PoolConfig } from 'pg';
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import { asUnavailable } from './availability.ts';
import { CommitWitnesses } from '../incarnations/commit-witnesses.ts';
import { placeDatabase, type Connection } from './connection-options.ts';
import { DatabaseClient } from './database-client.ts';
import { ENTITIES } from '../entities/all.ts';
import { Listener } from './listening.ts';
import { ormConnections } from './orm-connections.ts';
import { bringUpToDate } from '../schema-version.ts';
import { ServerSettlement } from '../incarnations/server-settlement.ts';

/** Waiting for a connection, a free one or a new one, in ms. With QUERY_MS_MAX below the 5 s of L3. */
export const CONNECT_MS_MAX = 2_000;

/**
 * The same for migrations and for an operator's backup or restore, in ms: nobody is kept waiting by them, and a busy
 * machine takes its time.
 */
const PATIENT_CONNECT_MS_MAX = 30_000;

/**
 * The client's timeout of one statement, in ms: it is what ends the wait when the server is stopped and cannot
 * cancel anything itself.
 */
export const QUERY_MS_MAX = 2_800;

/**
 * The server cancels a statement after this, in ms: earlier than the client gives up, so that the connection stays
 * usable.
 */
export const STATEMENT_MS_MAX = 2_500;

/** The server gives up waiting for a row or table lock after this, in ms. */
export const LOCK_MS_MAX = 1_500;

/**
 * The server ends a transaction whose client has gone quiet after this, in ms, so that a stopped admin holds no lock
 * for long.
 */
export const IDLE_IN_TRANSACTION_MS_MAX = 3_000;

/**
 * A connection of an admin that said nothing for so long is asked by the system whether it is there, in ms, and is lost
 * where ten such questions, one each second, stay unanswered: one that a firewall forgot, while a commit is waited for
 * on it without a limit, would be silent for two hours otherwise. Nothing is asked while what was sent is not
 * acknowledged: for the one statement without a limit of time that leaves there is BARRIER_MS_MAX. Migrations, new
 * indexes and what an operator began are left at those two hours: a network that is away for some seconds must not cost
 * hours of work.
 */
export const KEEP_ALIVE_MS = 10_000;

/** A spare connection is closed after this, in ms. */
const IDLE_CONNECTION_MS_MAX = 30_000;

/**
 * Connections of MikroORM, beside those of the pool: for cold writes, each when it is its turn.
 */
export const ORM_CONNECTIONS_MAX = 2;

/**
 * Connections that neither reads nor cold writes use: however many of those wait for each other, none keeps a batch or
 * a renewal waiting (L1, L4). They are for the group commit and its look whether an outage is over, for the round of
 * the leases, which begins with a check-in and asks one thing at a time, for hand-overs and claims beside it, and for
 * the leases of tasks and of channels of events, each asked for once a second.
 * One for a batch, one for that round, two for all the rest, batches that are taken apart among it. Where there are
 * fewer than POOL_DIVIDED_MIN in all, everybody shares.
 */
const WRITE_CONNECTIONS = 4;
const POOL_DIVIDED_MIN = 8;

/** What ends the waits of callers, in ms: the constants above, each by what it bounds. */
export interface DatabaseLimits {
  readonly connectMs: number;
  readonly queryMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
  readonly idleInTransactionMs: number;
}

/** As they are unless told otherwise. */
export const DATABASE_LIMITS: DatabaseLimits = {
  connectMs: CONNECT_MS_MAX,
  queryMs: QUERY_MS_MAX,
  statementMs: STATEMENT_MS_MAX,
  lockMs: LOCK_MS_MAX,
  idleInTransactionMs: IDLE_IN_TRANSACTION_MS_MAX,
};

/** How a database is opened. */
export interface DatabaseOptions {
  readonly connection: Connection;
  /** Most connections in all, at least 2. */
  readonly poolMax: number;
  readonly log: Log;
  /** Others than those above: for tests that prove nothing of them, on a machine that is busy. */
  readonly limits?: Partial<DatabaseLimits>;
}

export interface Database {
  readonly orm: MikroORM;
  /** For hot paths. Times come as Date, bigint as text. */
  readonly pool: Pool;
  /** The same for the group commit and for who has what now: see WRITE_CONNECTIONS. */
  readonly writes: Pool;
  /** Commits of actors that were acknowledged last. */
  readonly witnesses: CommitWitnesses;
  /** Connections in use and spare, and callers that wait for one. Without those of MikroORM. */
  connections(): { readonly busy: number; readonly idle: number; readonly waiting: number };
  /**
   * Brings the schema up to date; several admins may call it at once. Throws SchemaTooNew when the database was made by
   * a newer version, and WrongEncoding when it is not UTF8.
   */
  migrate(): Promise<void>;
  /** Hears what is notified, on a connection of its own. Nothing is dialled before somebody hears something. */
  listen(clock: Clock): Listener;
  /** Ends all connections. Waits for statements under way. */
  close(): Promise<void>;
}

/** Opens the database lazily: nothing is dialled before the first call. */
export async function openDatabase({ connection, poolMax, log, limits: given }: DatabaseOptions): Promise<Database> {
  const limits = { ...DATABASE_LIMITS, ...given };
  const place = placeDatabase(connection, log);
  const lost = (error: Error): void => log.warn({ error: error.message }, 'lost a connection to the database');
  const alone = { ...untimed(place.options), ...KEPT_ALIVE, connectionTimeoutMillis: limits.connectMs };
  const settlement = new ServerSettlement(alone);
  const admitted = {
    ...timed(place.options, limits),
    onConnect: (client: ClientBase) => settlement.admit(client as Client),
  };
  const opened = (max: number): Pool => {
    // what is asked without waiting for the answer before is sent at once: a batch is few round trips then
    const pipelined = { ...admitted, pipeline: true };
    const made = new Pool({ ...pipelined, max, idleTimeoutMillis: IDLE_CONNECTION_MS_MAX });
    made.on('error', lost);
    made.on('connect', (client) => client.on('error', lost)); // a server that goes away while a client is checked out
    return made;
  };
  const isDivided = poolMax >= POOL_DIVIDED_MIN;
  const pool = opened(Math.max(1, poolMax - ORM_CONNECTIONS_MAX - (isDivided ? WRITE_CONNECTIONS : 0)));
  const writes = isDivided ? opened(WRITE_CONNECTIONS) : pool;
  const orm = openOrm(admitted, place.name, log);

  return {
    orm,
    pool,
    writes,
    witnesses: new CommitWitnesses(),
    connections: () => {
      const pools = isDivided ? [pool, writes] : [pool];
      const sum = (count: (one: Pool) => number): number => pools.reduce((total, one) => total + count(one), 0);
      return {
        busy: sum((one) => one.totalCount - one.idleCount),
        idle: sum((one) => one.idleCount),
        waiting: sum((one) => one.waitingCount),
      };
    },
    migrate: async () => {
      try {
        await bringUpToDate(untimed(place.options), place.name, log);
      } catch (error) {
        throw asUnavailable(error, 'bringing the schema up to date');
      }
    },
    listen: (clock) => new Listener(alone, clock, log),
    close: async () => {
      settlement.close();
      await Promise.all([pool.end(), ...(isDivided ? [writes.end()] : []), orm.close(true)]);
    },
  };
}

/** Made at once: `MikroORM.init` would look for extensions in the file system and load a second copy of itself. */
function openOrm(options: PoolConfig, dbName: string, log: Log): MikroORM {
  return new MikroORM(
    defineConfig({
      dbName,
      entities: ENTITIES,
      driverOptions: ormConnections(options),
      pool: { min: 0, max: ORM_CONNECTIONS_MAX, idleTimeoutMillis: IDLE_CONNECTION_MS_MAX },
      logger: (message) => log.debug({}, message),
      colors: false,
      debug: false,
    }),
  );
}

/**
 * Connection settings with every timeout. A plan made for the values at hand beats a generic one for filters of very
 * different selectivity.
 */
function timed(place: PoolConfig, limits: DatabaseLimits): PoolConfig {
  return {
    ...untimed(place),
    ...KEPT_ALIVE,
    connectionTimeoutMillis: limits.connectMs,
    query_timeout: limits.queryMs,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
    options: '-c plan_cache_mode=force_custom_plan',
  };
}

/** Of every connection but those of migrations and operators. */
const KEPT_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS };

/** For migrations, which may take their time once they have begun. */
function untimed(place: PoolConfig): PoolConfig {
  return {
    ...place,
    connectionTimeoutMillis: PATIENT_CONNECT_MS_MAX,
    keepAlive: true,
    application_name: 'edge-admin',
  };
}

/** A connection of its own, without limits of time, for work of an operator that takes as long as it takes. */
export function dedicatedClient(connection: Connection, log: Log): Client {
  const client = new DatabaseClient(untimed(placeDatabase(connection, log).options));
  // Whatever is asked next says so; unheard, it would end the program with a stack trace.
  client.on('error', (error) => log.debug({ error: error.message }, 'lost a connection to the database'));
  return client;
}

/** Runs migrations up to `last`, and no later one. */
export function migrateTo(connection: Connection, last: string, log: Log): Promise<void> {
  const place = placeDatabase(connection, log);
  return bringUpToDate(untimed(place.options), place.name, log, last);
}
