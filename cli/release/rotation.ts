/** Another root: keys that come and go, and a root that would run out. */
import { renameSync } from 'node:fs';
import { basename } from 'node:path';
import { Metadata, MetadataKind, type Root } from '@tufjs/models';
import { EXIT, Problem } from '../problem.ts';
import { generateKey, KEY_ROLES, readKeys, type KeyRole, type NewKey, type SigningKey } from './keys.ts';
import { planOf, refreshRepository, signRepository } from './releases.ts';
import type { Repository } from './repository.ts';
import { signRoot, type SigningTime } from './signing.ts';

/** Shortest beginning of an id that names a key, in characters: as ids are shown. */
const ID_CHARS_MIN = 8;

/** What metadata calls the roles of keys. */
const KIND_OF = { root: MetadataKind.Root, release: MetadataKind.Targets, timestamp: MetadataKind.Timestamp } as const;

/** A key that a root names, wherever its file is. */
type RootKey = Pick<SigningKey, 'role' | 'key'>;

/** What is to change. */
export interface Rotation {
  /** Where the keys are. */
  readonly directory: string;
  /**
   * Keys that count no more, by the names of their files, or by the beginnings of their ids where the files are
   * elsewhere. They sign this one root still, where they are root keys.
   */
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
 * Signs a root that names the keys of the one before but for the retired, those that are new in the directory, and one
 * that is made for each retired; then signs anew what the keys of the directory can. Nothing is changed where that is
 * not enough.
 */
export async function rotate(repository: Repository, rotation: Rotation, time: SigningTime): Promise<Rotated> {
  const { directory, passphrase } = rotation;
  const before = repository.state().root;
  const here = await readKeys(directory, passphrase);
  const { signed } = Metadata.fromJSON(MetadataKind.Root, JSON.parse(before));
  const named = namedBy(signed);
  const byId = new Map(
    rotation.retire.map((given) => retiredKey(given, here, named, directory)).map((one) => [one.key.keyID, one]),
  );
  const retired = [...byId.values()]; // each once, however often it is named
  const isRetired = ({ key }: RootKey) => byId.has(key.keyID);
  const made = newKeys(retired, here, named, directory);
  const keys = [...here, ...made];
  const counting = keys.filter((one) => !isRetired(one));
  const all = new Map([...named.filter((one) => !isRetired(one)), ...counting].map((one) => [one.key.keyID, one]));
  const threshold = rotation.threshold ?? signed.roles[MetadataKind.Root]?.threshold ?? 1;
  const root = signRoot(before, planOf([...all.values()], threshold), keys, time);
  const sign = signingBy(counting, retired);
  for (const key of made) key.save(rotation.newPassphrase);
  repository.writeRoot(root);
  // The next rotation takes up what is in the directory: these would count again. At once, as signing may fail.
  for (const { file } of here.filter(isRetired)) renameSync(file, `${file}.retired`);
  await sign(repository, time);
  return { made: made.map(({ file }) => basename(file)), version: signed.version + 1 };
}

function namedBy(root: Root): readonly RootKey[] {
  return KEY_ROLES.flatMap((role) =>
    (root.roles[KIND_OF[role]]?.keyIDs ?? []).flatMap((id) => {
      const key = root.keys[id];
      return key === undefined ? [] : [{ role, key }];
    }),
  );
}

function retiredKey(given: string, here: readonly SigningKey[], named: readonly RootKey[], directory: string): RootKey {
  const file = here.find((key) => basename(key.file) === basename(given));
  if (file !== undefined) return file;
  const byId = given.length < ID_CHARS_MIN ? [] : named.filter(({ key }) => key.keyID.startsWith(given));
  const [found] = byId;
  if (found === undefined || byId.length > 1)
    throw new Problem(
      `there is no key ${given} in ${directory}, and it is no id of one that the root names: ${named.map(({ role, key }) => `${role} ${key.keyID.slice(0, ID_CHARS_MIN)}`).join(', ')}`,
      EXIT.notFound,
    );
  return found;
}

/** One for each retired key: under a number that none of its kind has here, nor elsewhere as far as one can know. */
function newKeys(
  retired: readonly RootKey[],
  here: readonly SigningKey[],
  named: readonly RootKey[],
  directory: string,
): readonly NewKey[] {
  const names = new Set(here.map(({ file }) => basename(file)));
  return retired.map(({ role }) => {
    let number = named.filter((one) => one.role === role).length + 1;
    while (names.has(`${role}-${number}.pem`)) number += 1;
    names.add(`${role}-${number}.pem`);
    return generateKey(directory, `${role}-${number}.pem`);
  });
}

/**
 * How what the root is for is signed by these keys: whole, the timestamp alone, or not at all, where what was signed
 * still counts. Throws a Problem where it does not.
 */
function signingBy(counting: readonly SigningKey[], retired: readonly RootKey[]) {
  const has = (role: KeyRole) => counting.some((key) => key.role === role);
  const isReplaced = (role: KeyRole) => retired.some((key) => key.role === role);
  if (has('release') && has('timestamp'))
    return (repository: Repository, time: SigningTime) => signRepository(repository, counting, time);
  if (isReplaced('release'))
    throw new Problem(
      'with another release key everything is signed anew, and no timestamp key is in the directory of keys: bring it, or retire it by its id',
    );
  return async (repository: Repository, time: SigningTime) => {
    if (isReplaced('timestamp')) refreshRepository(repository, counting, time);
  };
}
