/** `edge release keygen`. */
import { tell } from '../output/output.ts';
import { EXIT, Problem } from '../problem.ts';
import { makeKeys, readKeys, ROOT_KEYS_MAX } from './keys.ts';
import { knownPassphrase, newPassphrase, repositoryOf, type DirectoryFlags } from './options.ts';
import { startRepository } from './releases.ts';
import { VALIDITY } from './signing.ts';

/** How many keys, and where. */
export interface KeygenFlags extends DirectoryFlags {
  readonly keys: string;
  readonly rootKeys: number;
  readonly threshold?: number;
  readonly passphrase?: boolean;
  readonly passphraseFile?: string;
}

/** Makes what is missing. Answers the names of the keys that are new. */
export async function keygen(flags: KeygenFlags): Promise<readonly string[]> {
  const { rootKeys, threshold = Math.floor(rootKeys / 2) + 1 } = flags;
  if (rootKeys > ROOT_KEYS_MAX)
    throw new Problem(
      `--root-keys is "${rootKeys}": it should be a whole number from 1 to ${ROOT_KEYS_MAX}`,
      EXIT.usage,
    );
  if (threshold > rootKeys)
    throw new Problem(`--threshold is "${threshold}": it should be at most the ${rootKeys} of --root-keys`, EXIT.usage);
  const passphrase = await newPassphrase(flags);
  const made = makeKeys(flags.keys, { rootKeys, passphrase });
  const repository = repositoryOf(flags);
  const isNew = repository.roots().length === 0;
  if (isNew) {
    const keys = await readKeys(flags.keys, () =>
      passphrase === null ? knownPassphrase(flags) : Promise.resolve(passphrase),
    );
    startRepository(repository, keys, threshold, { nowMs: Date.now(), validity: VALIDITY });
  }
  tell(
    made.length === 0 && !isNew
      ? `${flags.keys} has all keys already: edge release rotate replaces one`
      : `${made.length === 0 ? 'the keys' : made.join(', ')} ${made.length === 0 ? 'that were there count' : 'are new'} in ${flags.keys}${isNew ? `, and the first root is in ${flags.dir}` : ''}. Keep the root keys where no admin is.`,
  );
  return made;
}
