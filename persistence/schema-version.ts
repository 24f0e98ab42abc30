/** Brings the schema up to date, one admin at a time. */
import { defineConfig, MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Client, PoolConfig } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../transport/net/log.ts';
import { isLockedOut } from './connections/availability.ts';
import { indexEmptyTables } from './concurrent-indexes.ts';
import { DatabaseClient } from './connections/database-client.ts';
import { SecretCheck } from './entities/secret-check.ts';
import { ormConnections } from './connections/orm-connections.ts';
import { Migration20261121000000_foundation } from './migrations/Migration20261121000000_foundation.ts';
import { Migration20261121120000_publishing } from './migrations/Migration20261121120000_publishing.ts';
import { Migration20261121180000_ssh } from './migrations/Migration20261121180000_ssh.ts';
import { Migration20261121190000_ssh_recording } from './migrations/Migration20261121190000_ssh_recording.ts';
import { Migration20261121200000_node_status } from './migrations/Migration20261121200000_node_status.ts';
import { Migration20261121210000_diagnostics } from './migrations/Migration20261121210000_diagnostics.ts';
import { Migration20261121220000_traces } from './migrations/Migration20261121220000_traces.ts';
import { Migration20261121230000_mesh } from './migrations/Migration20261121230000_mesh.ts';
import { Migration20261121233000_vpn } from './migrations/Migration20261121233000_vpn.ts';
import { Migration20261122020000_identity } from './migrations/Migration20261122020000_identity.ts';
import { Migration20261122030000_returning } from './migrations/Migration20261122030000_returning.ts';
import { Migration20261122040000_incarnation } from './migrations/Migration20261122040000_incarnation.ts';
import { Migration20261122041000_kept_columns } from './migrations/Migration20261122041000_kept_columns.ts';
import { Migration20261122070000_public_keys } from './migrations/Migration20261122070000_public_keys.ts';
import { Migration20261123040000_labels } from './migrations/Migration20261123040000_labels.ts';
import { Migration20261123110000_admin_links } from './migrations/Migration20261123110000_admin_links.ts';
import { Migration20261123120000_gone_admins } from './migrations/Migration20261123120000_gone_admins.ts';
import { Migration20261123130000_label_tokens } from './migrations/Migration20261123130000_label_tokens.ts';
import { Migration20261123140000_owned_since } from './migrations/Migration20261123140000_owned_since.ts';
import { Migration20261123150000_relays } from './migrations/Migration20261123150000_relays.ts';
import { Migration20261123160000_stopping } from './migrations/Migration20261123160000_stopping.ts';
import { Migration20261123170000_self_updates } from './migrations/Migration20261123170000_self_updates.ts';
import { Migration20261123210000_encryption_keys } from './migrations/Migration20261123210000_encryption_keys.ts';
import { Migration20261123213000_asked_updates } from './migrations/Migration20261123213000_asked_updates.ts';
import { Migration20261123171500_releases } from './migrations/Migration20261123171500_releases.ts';
import { Migration20261123220000_console_sessions } from './migrations/Migration20261123220000_console_sessions.ts';
import { Migration20261124000000_events_of_nodes } from './migrations/Migration20261124000000_events_of_nodes.ts';
import { Migration20261128000000_all_found } from './migrations/Migration20261128000000_all_found.ts';
import { Migration20261129000000_stored_events } from './migrations/Migration20261129000000_stored_events.ts';
import { Migration20261129120000_waves } from './migrations/Migration20261129120000_waves.ts';
import { Migration20261129130000_admin_problems } from './migrations/Migration20261129130000_admin_problems.ts';
import { Migration20261130000000_event_partitions } from './migrations/Migration20261130000000_event_partitions.ts';
import { Migration20261130120000_direct_deliveries } from './migrations/Migration20261130120000_direct_deliveries.ts';

/** Every migration, oldest first. A new one is added here. */
const MIGRATIONS = [
  Migration20261121000000_foundation,
  Migration20261121120000_publishing,
  Migration20261121180000_ssh,
  Migration20261121190000_ssh_recording,
  Migration20261121200000_node_status,
  Migration20261121210000_diagnostics,
  Migration20261121220000_traces,
  Migration20261121230000_mesh,
  Migration20261121233000_vpn,
  Migration20261122020000_identity,
  Migration20261122030000_returning,
  Migration20261122040000_incarnation,
  Migration20261122041000_kept_columns,
  Migration20261122070000_public_keys,
  Migration20261123040000_labels,
  Migration20261123110000_admin_links,
  Migration20261123120000_gone_admins,
  Migration20261123130000_label_tokens,
  Migration20261123140000_owned_since,
  Migration20261123150000_relays,
  Migration20261123160000_stopping,
  Migration20261123170000_self_updates,
  Migration20261123171500_releases,
  Migration20261123210000_encryption_keys,
  Migration20261123213000_asked_updates,
  Migration20261123220000_console_sessions,
  Migration20261124000000_events_of_nodes,
  Migration20261128000000_all_found,
  Migration20261129000000_stored_events,
  Migration20261129120000_waves,
  Migration20261129130000_admin_problems,
  Migration20261130000000_event_partitions,
  Migration20261130120000_direct_deliveries,
];

/** Table in which MikroORM notes the migrations it has run. */
export const MIGRATION_TABLE = 'mikro_orm_migrations';

/** Advisory lock under which schemas are changed: the first eight bytes of `sha256('edge-fleet-control schema')`. */
const SCHEMA_LOCK = '133966898947473882';

/** How long an admin waits for another one that is changing the schema, in ms, and how often it looks. */
const SCHEMA_LOCK_MS_MAX = 60_000;
const SCHEMA_LOCK_POLL_MS = 100;

/**
 * A table that somebody reads in one long transaction, such as a backup, is waited for by trying: whoever writes to it
 * waits behind a wait for the whole of it. How long one try waits, and then the next one, and all of them, in ms.
 */
const TABLE_LOCK_MS_MAX = 1_000;
const TABLE_PAUSE_MS = 2_000;
const TABLE_MS_MAX = 600_000;

/** The database holds migrations that this program does not know. */
export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew';
}

/** The database cannot hold what there is to store: it is of another encoding than UTF8. */
export class WrongEncoding extends Error {
  override readonly name = 'WrongEncoding';
}

/**
 * Runs the migrations that are missing, and makes the indexes of empty tables, under a lock that all admins share;
 * `last` is the last migration to run, and no index then; null: all.
 * Throws SchemaTooNew when the database is ahead, WrongEncoding when it is not UTF8, and changes nothing then.
 */
export async function bringUpToDate(
  connection: PoolConfig,
  dbName: string,
  log: Log,
  last: string | null = null,
): Promise<void> {
  const holder = new DatabaseClient(connection);
  holder.on('error', (error) => log.warn({ error: error.message }, 'lost a connection to the database'));
  await holder.connect();
  try {
    await refuseOtherEncodings(holder);
    await lockSchema(holder);
    await refuseNewer(holder);
    await runMissing(connection, dbName, log, last);
    if (last === null) await indexEmptyTables(holder);
  } finally {
    await holder.end(); // gives the lock back
  }
}

/** Scripts and what they say are any text: a character that the encoding lacks would lose a whole result. */
async function refuseOtherEncodings(holder: Client): Promise<void> {
  const { rows } = await holder.query<{ server_encoding: string }>('show server_encoding');
  const encoding = rows[0]?.server_encoding;
  if (encoding !== 'UTF8')
    throw new WrongEncoding(
      `The database has the encoding ${encoding}, and UTF8 is needed: make one by CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
    );
}

/** By trying, not by waiting in the server: a wait there would be one long statement. */
async function lockSchema(holder: Client): Promise<void> {
  for (let waitedMs = 0; waitedMs < SCHEMA_LOCK_MS_MAX; waitedMs += SCHEMA_LOCK_POLL_MS) {
    const { rows } = await holder.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      SCHEMA_LOCK,
    ]);
    if (rows[0]?.locked === true) return;
    await delay(SCHEMA_LOCK_POLL_MS);
  }
  throw new Error(
    `Another admin has been changing the database schema for over ${SCHEMA_LOCK_MS_MAX / 1_000} s. Look at its log, then start this one again.`,
  );
}

/** Throws SchemaTooNew when one of these migrations is unknown here. */
export function refuseUnknown(names: readonly string[]): void {
  const unknown = names.filter((name) => !MIGRATIONS.some((migration) => migration.name === name));
  if (unknown.length > 0)
    throw new SchemaTooNew(
      `It was made by a newer version of this program (it has ${unknown.join(', ')}). Use that version or a later one.`,
    );
}

async function refuseNewer(holder: Client): Promise<void> {
  const {
    rows: [table],
  } = await holder.query<{ there: boolean }>('select to_regclass($1) is not null as there', [MIGRATION_TABLE]);
  if (table?.there !== true) return;
  const known = MIGRATIONS.map((migration) => migration.name);
  const { rows } = await holder.query<{ name: string }>(
    `select name from ${MIGRATION_TABLE} where not name = any($1) order by id`,
    [known],
  );
  if (rows.length === 0) return;
  throw new SchemaTooNew(
    `The database was made by a newer version of this program (it has ${rows.map((row) => row.name).join(', ')}). Update this admin, or restore the database from before the update.`,
  );
}

async function runMissing(connection: PoolConfig, dbName: string, log: Log, last: string | null): Promise<void> {
  const orm = new MikroORM(
    defineConfig({
      dbName,
      entities: [SecretCheck], // MikroORM wants at least one; migrations use none
      driverOptions: ormConnections({ ...connection, lock_timeout: TABLE_LOCK_MS_MAX }),
      pool: { min: 0, max: 1 },
      extensions: [Migrator],
      migrations: {
        migrationsList: MIGRATIONS.map((migration) => ({ name: migration.name, class: migration })),
        tableName: MIGRATION_TABLE,
        snapshot: false,
      },
      logger: (message) => log.debug({}, message),
      colors: false,
      debug: false,
    }),
  );
  try {
    const ran = await onceUnlocked(() => orm.migrator.up(last === null ? {} : { to: last }), log);
    if (ran.length > 0) log.info({ migrations: ran.map(({ name }) => name) }, 'brought the database schema up to date');
  } finally {
    await orm.close(true);
  }
}

/** All of them or none: what met a lock is tried again. */
async function onceUnlocked<T>(run: () => Promise<T>, log: Log): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += TABLE_LOCK_MS_MAX + TABLE_PAUSE_MS) {
    try {
      return await run();
    } catch (error) {
      if (!isLockedOut(error) || waitedMs >= TABLE_MS_MAX) throw error;
      if (waitedMs === 0)
        log.warn({}, 'somebody reads a table in one long transaction, such as a backup: waiting to change the schema');
      await delay(TABLE_PAUSE_MS);
    }
  }
}
