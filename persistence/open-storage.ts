/** Opens the rows of an admin: a database that is up to date, whose secrets this admin can read, and that knows it. */
import type { Bus } from '../actors/bus.ts';
import type { Log } from '../transport/net/log.ts';
import { monotonicMs, systemClock } from '../transport/net/clock.ts';
import type { Unwind } from '../transport/net/unwind.ts';
import { keepAhead } from './event-partitions/upkeep.ts';
import { AdminRegistry, type AdminSelf } from './admins/admin-directory.ts';
import { DatabaseArrival } from './connections/arrival.ts';
import { GroupCommitter } from './committer/committer.ts';
import { DatabaseClock } from './database-clock.ts';
import { IndexBuilds } from './concurrent-indexes.ts';
import { dedicatedClient, openDatabase, type Database } from './connections/database.ts';
import { encryptionKeysIn } from './embedded/encryption-key.ts';
import { startEmbeddedPostgres } from './embedded/launcher.ts';
import { watchIncarnation } from './incarnations/incarnation.ts';
import { takeName } from './admins/instance-lock.ts';
import { LivePeers } from './admins/live-peers.ts';
import { EncryptionKeys } from './sealing/encryption-keys.ts';
import { Storage, type StorageSettings } from './storage.ts';
import { createVault } from './vault.ts';

/** The settings that say where the rows are and who uses them, under their names. */
export interface OpenStorageSettings extends StorageSettings {
  /** Left out: an embedded PostgreSQL in DATA_DIR. */
  readonly DATABASE_URL?: string | undefined;
  readonly DATA_DIR: string;
  /** Left out: the keys in DATA_DIR, of which the first is made at the first start. */
  readonly ENCRYPTION_KEY?: Uint8Array | undefined;
  readonly ENCRYPTION_KEYS_OLD?: readonly Uint8Array[] | undefined;
  /** Whether others guess ENCRYPTION_KEY. */
  readonly isEncryptionKeyWeak: boolean;
  readonly DATABASE_POOL_MAX: number;
  readonly DATABASE_WAIT_MS: number;
  readonly ADMIN_NAME: string;
  readonly ADMIN_MAX_WIREGUARD_PEERS: number;
}

/** What it is opened with. */
export interface OpenStorageOptions {
  /** Of this program. */
  readonly version: string;
  /** Of what it says to other admins. */
  readonly linkVersion: number;
  /** Of this admin, for its agents and for other admins; empty as long as none is known. */
  readonly urls: AdminSelf['urls'];
  /** Told of what was stored. */
  readonly bus: Bus;
  readonly log: Log;
  /** Gets what is to be ended, as it is opened. */
  readonly ends: Pick<Unwind, 'add'>;
  /** Aborts when the start is not wanted any more. */
  readonly signal: AbortSignal;
}

/** Rejects with an error whose message is for the operator. What was opened until then is in `ends`. */
export async function openStorage(settings: OpenStorageSettings, options: OpenStorageOptions): Promise<Storage> {
  const { bus, log, ends, signal } = options;
  const postgres =
    settings.DATABASE_URL === undefined ? await startEmbeddedPostgres({ dataDir: settings.DATA_DIR, log }) : null;
  if (postgres !== null) ends.add('PostgreSQL', () => postgres.stop());
  const vault = createVault(...keysOf(settings));
  const connection = postgres?.connection ?? { url: settings.DATABASE_URL ?? '' };
  const database = await openDatabase({ connection, poolMax: settings.DATABASE_POOL_MAX, log });
  ends.add('database connections', () => database.close());
  const arrival = new DatabaseArrival(settings.DATABASE_WAIT_MS, log, signal);
  const { pool } = database;
  await arrival.done('connecting for the first time', () => pool.query('select 1'));
  await arrival.done('migrating', () => database.migrate());
  const incarnation = await arrival.done('comparing', () => watchIncarnation(database, settings.ADMIN_NAME, log));
  // Where transactions were counted anew, as by a restore, what comes is for no partition until there is one.
  await keepAhead(pool, settings.EVENT_RETENTION_DAYS).catch((error: unknown) => log.warn({ error }, NONE_AHEAD));
  const time = { clock: systemClock, log };
  const clock = await arrival.done('asking for the time', () => DatabaseClock.start(pool, time));
  ends.add('the clock', () => clock.stop());
  const registry = registryOf(settings, options, database, clock);
  const { isEncryptionKeyWeak: isWeak } = settings;
  const keys = new EncryptionKeys({ pool, vault, instanceId: registry.instanceId, isWeak, log });
  await arrival.done('checking the encryption key', () => keys.settle());
  await arrival.done('saying which encryption key is wanted', () => keys.announce());
  const listener = database.listen(systemClock);
  ends.add('the listening connection', () => listener.stop());
  const adminId = await arrival.done('taking up its name', () =>
    takeName({
      name: settings.ADMIN_NAME,
      tryLock: () => listener.lock(settings.ADMIN_NAME),
      holder: () => registry.holder(),
      register: (from) => registry.register(from),
      monotonicMs,
    }),
  );
  ends.add('registration', () => registry.checkOut());
  await arrival.done('comparing the encryption key', () => keys.confirm());
  const peers = new LivePeers(adminId, monotonicMs);
  const committer = new GroupCommitter({
    database,
    vault,
    adminId,
    hasPeers: () => peers.areThere(),
    log,
    committed: (notices) => bus.publish(notices),
  });
  const connect = () => dedicatedClient(connection, log);
  const indexes = new IndexBuilds({ pool, connect, clock: systemClock, log });
  ends.add('making indexes', () => indexes.stop());
  indexes.start();
  const rows = { database, listener, vault, keys, incarnation, clock, registry, committer, peers };
  return new Storage({ settings, adminId, ...rows, arrival, log });
}

const NONE_AHEAD = 'no partition of the events could be made: those lie in the default one until there is one';

function registryOf(
  settings: OpenStorageSettings,
  { version, linkVersion, urls }: OpenStorageOptions,
  database: Database,
  clock: { nowMs(): number },
) {
  return new AdminRegistry(
    database,
    {
      name: settings.ADMIN_NAME,
      urls,
      adminClusterName: settings.ADMIN_CLUSTER_NAME,
      version,
      maxWireguardPeers: settings.ADMIN_MAX_WIREGUARD_PEERS,
      linkVersion,
    },
    clock,
  );
}

/** ENCRYPTION_KEY and former ones: as they are set, or out of DATA_DIR. */
export function keysOf({
  ENCRYPTION_KEY,
  ENCRYPTION_KEYS_OLD = [],
  DATA_DIR,
}: Pick<OpenStorageSettings, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEYS_OLD' | 'DATA_DIR'>): readonly [
  Uint8Array,
  readonly Uint8Array[],
] {
  if (ENCRYPTION_KEY !== undefined) return [ENCRYPTION_KEY, ENCRYPTION_KEYS_OLD];
  const { key, former } = encryptionKeysIn(DATA_DIR);
  return [key, former];
}
