/** A known text, sealed: by it a database tells under which ENCRYPTION_KEY it is (E3). */
import type { ClientBase, Pool } from 'pg';
import { rowsOf, sql } from './reads/sql.ts';
import { SealBroken, type Keyring } from './vault.ts';

/** The row, and the name its text is sealed under. */
const NAME = 'encryption_key';

/** What is sealed: any known text would do. */
const KNOWN_TEXT = 'edge-fleet-control';

/** The database was made with another key. */
export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey';
}

/** Opens the known text of a backup. Throws WrongEncryptionKey. */
export function checkSealed(vault: Keyring, sealed: string | null): void {
  if (sealed !== null && keyOfCheck(vault, sealed) === null)
    throw new WrongEncryptionKey(
      'ENCRYPTION_KEY, or encryption.key in DATA_DIR, is not the key that the backup was made with. Restore that with it.',
      { cause: new SealBroken('sealed under another key') },
    );
}

/** Id of the key that seals by what the database says; null: none of these, or it holds no such text yet. */
export async function storedKey(
  client: Pool | ClientBase,
  vault: Keyring,
  lock: 'for update' | '' = '',
): Promise<{ readonly isThere: boolean; readonly id: string | null }> {
  const locked = lock === '' ? sql`` : sql`for update`;
  const [row] = await rowsOf<{ sealed: string }>(
    client,
    'checking the encryption key',
    sql`select sealed from secret_check where name = ${NAME} ${locked}`,
  );
  return { isThere: row !== undefined, id: row === undefined ? null : keyOfCheck(vault, row.sealed) };
}

/**
 * Seals the known text under the key of this id: `first`, where there is none yet, else in the place of the one there.
 */
export async function storeCheck(
  client: Pool | ClientBase,
  vault: Keyring,
  id: string,
  { first }: { readonly first: boolean },
): Promise<void> {
  const sealed = vault.sealUnder(id, KNOWN_TEXT, NAME);
  await rowsOf(
    client,
    'storing the check of the encryption key',
    first
      ? sql`insert into secret_check (name, sealed) values (${NAME}, ${sealed}) on conflict do nothing`
      : sql`update secret_check set sealed = ${sealed} where name = ${NAME}`,
  );
}

function keyOfCheck(vault: Keyring, sealed: string): string | null {
  const id = vault.keyOf(sealed, NAME);
  return id !== null && vault.open(sealed, NAME) === KNOWN_TEXT ? id : null;
}
