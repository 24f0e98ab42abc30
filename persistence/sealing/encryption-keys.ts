/**
 * Under which key secrets are sealed, as all admins of a database have it: the check at the start, the change to a new
 * ENCRYPTION_KEY once all of them want it, and when a former one is not needed any more. Source:
 * docs/decisions/key-rotation.md.
 */
import type { Pool } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { REGISTRATION_LOCK } from '../admins/registration.ts';
import { storeCheck, storedKey, WrongEncryptionKey } from '../secret-check.ts';
import { inTransaction } from '../connections/transaction.ts';
import { SealBroken, type Keyring } from '../vault.ts';
import { unreadableRows } from './sealed-rows.ts';

/**
 * An admin that has not checked in for so long does not hold up the change to a new key, in ms. One that wakes later
 * ends itself where it does not know that key.
 */
export const ADMIN_AWAY_MS_MAX = 60_000;

/**
 * What an admin sealed before it knew of a change is stored within this time, in ms: no request takes longer (30 s),
 * and each admin asks every 2 s. Only who looks later sees that a former key is not needed.
 */
export const IN_FLIGHT_MS_MAX = 35_000;

/** A key that others guess is not begun with. */
export class WeakEncryptionKey extends Error {
  override readonly name = 'WeakEncryptionKey';
}

/** What an admin has as its keys. */
export interface EncryptionKeysPorts {
  readonly pool: Pool;
  readonly vault: Keyring;
  /** Of this process. */
  readonly instanceId: string;
  /** Whether ENCRYPTION_KEY is one that others guess. */
  readonly isWeak: boolean;
  readonly log: Log;
}

/** The keys of one database, for one admin. */
export class EncryptionKeys {
  readonly #ports: EncryptionKeysPorts;
  readonly #lost = Promise.withResolvers<Error>();
  /** Who is waited for, as the log has it. */
  #toldOf = '';

  constructor(ports: EncryptionKeysPorts) {
    this.#ports = ports;
  }

  /** Resolves when a key seals that this process does not have: it is to be ended, as it reads no secret any more. */
  get lost(): Promise<Error> {
    return this.#lost.promise;
  }

  /**
   * Seals with what the database is sealed with, or with ENCRYPTION_KEY where it is new. Throws WrongEncryptionKey and
   * WeakEncryptionKey. Can be done again.
   */
  async settle(): Promise<void> {
    const { pool, vault, isWeak, log } = this.#ports;
    let { isThere, id } = await storedKey(pool, vault);
    if (isThere && id === null) throw wrongKey();
    if (isWeak && id !== vault.wanted) throw new WeakEncryptionKey(isThere ? WEAK_NEXT : WEAK_FIRST);
    if (!isThere) {
      await storeCheck(pool, vault, vault.wanted, { first: true });
      ({ id } = await storedKey(pool, vault)); // of admins that start at once, one stores and the others verify
    }
    if (id === null) throw wrongKey();
    vault.sealWith(id);
    if (isWeak) log.warn({}, WEAK_IN_USE);
    await rowsOf(
      pool,
      'noting the encryption key',
      sql`insert into encryption_key (id, sealing_since) select ${id}::text, clock_timestamp()
        where not exists (select from encryption_key where replaced_at is null) on conflict do nothing`,
    );
    await this.#refuseMissing();
  }

  /** To be said before this process comes into the list of admins: which key it wants. */
  async announce(): Promise<void> {
    const { pool, vault, instanceId } = this.#ports;
    await rowsOf(
      pool,
      'noting which encryption key is wanted',
      sql`with gone as (delete from encryption_key_wish w where inserted_at < clock_timestamp() - interval '1 day'
          and not exists (select from admin a where a.instance_id = w.instance_id))
        insert into encryption_key_wish (instance_id, key_id, inserted_at) values (${instanceId}::uuid, ${vault.wanted}, clock_timestamp())
        on conflict (instance_id) do update set key_id = excluded.key_id`,
    );
  }

  /** Once it is in the list: a change that did not know of it yet is found here. Throws WrongEncryptionKey. */
  async confirm(): Promise<void> {
    if ((await this.#follow()) === null) throw wrongKey();
  }

  /** Follows a change that another admin made. Called every few seconds. */
  async compare(): Promise<void> {
    if ((await this.#follow()) === null)
      this.#lost.resolve(
        new WrongEncryptionKey(
          'ENCRYPTION_KEY was rotated, and this admin has not the new key: it ends. Start it with the ENCRYPTION_KEY of the other admins.',
        ),
      );
  }

  /**
   * Has ENCRYPTION_KEY seal from now on, where every admin that is there wants it; one of a release before wants
   * nothing. Done by one admin at a time.
   */
  async change(): Promise<void> {
    const { pool, vault, log } = this.#ports;
    if (vault.sealing() === vault.wanted) return;
    const waitedFor = await inTransaction(pool, 'changing the encryption key', async (client) => {
      await client.query('select pg_advisory_xact_lock($1)', [REGISTRATION_LOCK]); // nobody comes into the list meanwhile
      const others = await rowsOf<{ name: string }>(
        client,
        'asking which encryption key is wanted',
        sql`select a.name from admin a left join encryption_key_wish w on w.instance_id = a.instance_id
          where a.last_checked_in > clock_timestamp() - ${ADMIN_AWAY_MS_MAX}::int * interval '1 ms' and w.key_id is distinct from ${vault.wanted} order by 1`,
      );
      if (others.length > 0) return others.map(({ name }) => name);
      const { id } = await storedKey(client, vault, 'for update');
      if (id === null || id === vault.wanted) return [];
      await storeCheck(client, vault, vault.wanted, { first: false });
      await rowsOf(
        client,
        'changing the encryption key',
        sql`update encryption_key set replaced_at = clock_timestamp() where replaced_at is null`,
      );
      await rowsOf(
        client,
        'changing the encryption key',
        sql`insert into encryption_key (id, sealing_since) values (${vault.wanted}, clock_timestamp())
          on conflict (id) do update set sealing_since = excluded.sealing_since, replaced_at = null, retired_at = null`,
      );
      return [];
    });
    const names = waitedFor.join(', ');
    if (names === '') return await this.compare();
    if (names !== this.#toldOf)
      log.info({}, `the new ENCRYPTION_KEY is not used yet: it is not that of ${names}, where the former one still is`);
    this.#toldOf = names;
  }

  /** Since when the present key seals, by the clock of the database, in ms; null: it was changed again. */
  async sealsForMs(): Promise<number | null> {
    const { pool, vault } = this.#ports;
    const [row] = await rowsOf<{ ms: number }>(
      pool,
      'asking since when the encryption key seals',
      sql`select (extract(epoch from clock_timestamp() - sealing_since) * 1000)::float8 as ms from encryption_key
        where id = ${vault.sealing()} and replaced_at is null`,
    );
    return row?.ms ?? null;
  }

  /** Nothing is sealed under any former key that is here. Answers how many of them were needed until now. */
  async retire(): Promise<number> {
    const { pool, vault } = this.#ports;
    const rows = await rowsOf(
      pool,
      'noting that former encryption keys are not needed',
      sql`update encryption_key set retired_at = clock_timestamp() where retired_at is null and replaced_at is not null
        and id = any(${vault.ids}::text[])
        and exists (select from encryption_key where id = ${vault.sealing()} and replaced_at is null) returning 1`,
    );
    return rows.length;
  }

  /** Null: it is a key that is not here. */
  async #follow(): Promise<string | null> {
    const { pool, vault, log } = this.#ports;
    const { id } = await storedKey(pool, vault);
    if (id !== null && id !== vault.sealing()) {
      vault.sealWith(id);
      log.info({}, 'the new ENCRYPTION_KEY seals from now on: what is under the former one is sealed anew');
    }
    return id;
  }

  /** Refuses a start without a former key that something is sealed under. */
  async #refuseMissing(): Promise<void> {
    const { pool, vault } = this.#ports;
    const missing = await rowsOf<{ id: string }>(
      pool,
      'asking which encryption keys are needed',
      sql`select id from encryption_key where retired_at is null and replaced_at is not null and not id = any(${vault.ids}::text[])`,
    );
    if (missing.length === 0) return;
    const unreadable = await unreadableRows(pool, vault);
    const left = unreadable.map(({ column, rows }) => `${column}: ${rows}`).join(', ');
    // What another admin sealed before it knew of the change is stored within that time.
    const isJustChanged = ((await this.sealsForMs()) ?? 0) < IN_FLIGHT_MS_MAX;
    if (left !== '' || isJustChanged)
      throw new WrongEncryptionKey(
        `Secrets are still sealed under a former ENCRYPTION_KEY (${left === '' ? 'it was changed less than a minute ago' : left}): start with it in ENCRYPTION_KEYS_OLD, until the log says that it is not needed any more.`,
      );
    await rowsOf(
      pool,
      'noting that former encryption keys are not needed',
      sql`update encryption_key set retired_at = clock_timestamp() where id = any(${missing.map(({ id }) => id)}::text[]) and replaced_at is not null`,
    );
  }
}

const ANOTHER = 'Make another one: openssl rand -base64 32';
const WEAK_FIRST = `ENCRYPTION_KEY is one that others guess, and nothing is sealed under it yet. ${ANOTHER}`;
const WEAK_NEXT = `ENCRYPTION_KEY is one that others guess, and is not what the database is sealed under. ${ANOTHER}`;
const WEAK_IN_USE =
  'ENCRYPTION_KEY is one that others guess: whoever gets a backup reads every secret in it. Rotate it: docs/operations.md';

function wrongKey(): WrongEncryptionKey {
  return new WrongEncryptionKey(
    'Neither ENCRYPTION_KEY nor one of ENCRYPTION_KEYS_OLD is the key that this database is sealed under. Start with that key, or restore its file (encryption.key in DATA_DIR).',
    { cause: new SealBroken('sealed under another key, or changed') },
  );
}
