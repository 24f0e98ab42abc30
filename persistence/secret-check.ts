/** Refuses to start with another ENCRYPTION_KEY than the one the database was made with (E3). */
import type { MikroORM } from '@mikro-orm/postgresql';
import { asUnavailable } from './availability.ts';
import { SecretCheck } from './entities/secret-check.ts';
import { SealBroken, type Vault } from './vault.ts';

/** The row, and the name its text is sealed under. */
const NAME = 'encryption_key';

/** What is sealed: any known text would do. */
const KNOWN_TEXT = 'edge-fleet-control';

/** The database was made with another key. */
export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey';
}

/** Opens the known text of a backup. Throws WrongEncryptionKey. */
export function checkSealed(vault: Vault, sealed: string | null): void {
  try {
    if (sealed !== null) openCheck(vault, sealed);
  } catch (error) {
    throw error instanceof SealBroken
      ? new WrongEncryptionKey(
          'ENCRYPTION_KEY, or encryption.key in DATA_DIR, is not the key that the backup was made with. Restore that with it.',
          { cause: error },
        )
      : error;
  }
}

function openCheck(vault: Vault, sealed: string): void {
  if (vault.open(sealed, NAME) !== KNOWN_TEXT) throw new SealBroken('opened to another text');
}

/**
 * Seals a known text on the first start, and opens it on every later one. Throws WrongEncryptionKey. Of admins that
 * start at once, one seals and the others verify.
 */
export async function checkEncryptionKey(orm: MikroORM, vault: Vault): Promise<void> {
  const em = orm.em.fork();
  try {
    await em.upsert(SecretCheck, { name: NAME, sealed: vault.seal(KNOWN_TEXT, NAME) }, { onConflictAction: 'ignore' });
    const { sealed } = await em.fork().findOneOrFail(SecretCheck, { name: NAME });
    openCheck(vault, sealed);
  } catch (error) {
    if (error instanceof SealBroken)
      throw new WrongEncryptionKey(
        'ENCRYPTION_KEY is not the key that this database was made with. Start with the former key, or restore its file (encryption.key in DATA_DIR).',
        { cause: error },
      );
    throw asUnavailable(error, 'checking the encryption key');
  }
}
