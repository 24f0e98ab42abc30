/** Another root: keys that come and go, and a root that would run out. */
import { renameSync } from 'node:fs';
import { basename } from 'node:path';
import { Metadata, MetadataKind } from '@tufjs/models';
import { EXIT, Problem } from '../problem.ts';
import { makeKey, readKeys, type SigningKey } from './keys.ts';
import { planOf, signRepository } from './releases.ts';
import type { Repository } from './repository.ts';
import { signRoot, type SigningTime } from './signing.ts';

/** What is to change. */
export interface Rotation {
  /** Where the keys are. */
  readonly directory: string;
  /** Names of key files that count no more. They sign this one root still, where they are root keys. */
  readonly retire: readonly string[];
  /** Root keys that sign together from now on; null: as many as before. */
  readonly threshold: number | null;
  /** Opens keys; null from `newPassphrase`: new keys are not encrypted. */
  readonly passphrase: () => Promise<string>;
  readonly newPassphrase: string | null;
}

/** What was done: names of keys that were made, and the version of the root. */
export interface Rotated {
  readonly made: readonly string[];
  readonly version: number;
}

/**
 * Signs a root that names the keys of the directory but for the retired, makes one where a kind would have none left,
 * and signs everything anew with those that count now.
 */
export async function rotate(repository: Repository, rotation: Rotation, time: SigningTime): Promise<Rotated> {
  const { directory, retire, passphrase } = rotation;
  const before = repository.state().root;
  const known = await readKeys(directory, passphrase);
  const unknown = retire.find((file) => !known.some((key) => basename(key.file) === basename(file)));
  if (unknown !== undefined) throw new Problem(`there is no key ${unknown} in ${directory}`, EXIT.notFound);
  const isRetired = (key: SigningKey) => retire.some((file) => basename(file) === basename(key.file));
  const made = newKeys(known, isRetired);
  for (const file of made) makeKey(directory, file, rotation.newPassphrase);
  const keys = made.length === 0 ? known : await readKeys(directory, passphrase);
  const counting = keys.filter((key) => !isRetired(key));
  const root = Metadata.fromJSON(MetadataKind.Root, JSON.parse(before));
  const threshold = rotation.threshold ?? root.signed.roles[MetadataKind.Root]?.threshold ?? 1;
  repository.writeRoot(signRoot(before, planOf(counting, threshold), keys, time));
  // The next rotation names what is in the directory: these would count again. At once, as signing may fail.
  for (const { file } of keys.filter(isRetired)) renameSync(file, `${file}.retired`);
  await signRepository(repository, counting, time);
  return { made, version: root.signed.version + 1 };
}

/** One for each retired key: under the next free number. */
function newKeys(keys: readonly SigningKey[], isRetired: (key: SigningKey) => boolean): readonly string[] {
  const names = new Set(keys.map(({ file }) => basename(file)));
  return keys.filter(isRetired).map(({ role }) => {
    let number = 2;
    while (names.has(`${role}-${number}.pem`)) number += 1;
    names.add(`${role}-${number}.pem`);
    return `${role}-${number}.pem`;
  });
}
