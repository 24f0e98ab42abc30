/** What the commands of `edge release` have in common: where releases and keys are, and for how long is signed. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command as Program } from 'commander';
import { hiddenLine } from '../hidden-line.ts';
import { EXIT, Problem } from '../problem.ts';
import { readKeys, type SigningKey } from './keys.ts';
import { Repository } from './repository.ts';
import { VALIDITY, type SigningTime } from './signing.ts';

/** Directories that are used when none is named: in the one in which the command is called. */
export const RELEASES_DIRECTORY = 'releases';
export const KEYS_DIRECTORY = 'release-keys';

/** Metadata holds no longer than this, in days. */
const DAYS_MAX = 3_650;

/** Characters of a passphrase at least. Whoever has the file can try as fast as his machines go. */
const PASSPHRASE_MIN = 12;

/** Where the releases are. */
export interface DirectoryFlags {
  readonly dir: string;
}

/** The keys that sign, and how they open. */
export interface KeyFlags {
  readonly keys: string;
  readonly passphraseFile?: string;
}

/** For how long what is signed holds. */
export interface ValidityFlags {
  readonly rootDays: number;
  readonly targetsDays: number;
  readonly timestampDays: number;
}

/** Adds `--dir`. */
export function addDirectoryOption(command: Program): Program {
  return command.option('--dir <dir>', 'directory of the releases', RELEASES_DIRECTORY);
}

/** Adds `--dir`, and what signing takes. */
export function addSigningOptions(command: Program): Program {
  return addDirectoryOption(command)
    .option('--keys <dir>', 'directory of the keys', KEYS_DIRECTORY)
    .option('--passphrase-file <file>', 'the passphrase of the keys; it is asked for where this is left out')
    .addOption(daysOption('--root-days <n>', 'a new root holds so many days', VALIDITY.rootDays))
    .addOption(daysOption('--targets-days <n>', 'releases and channels hold so many days', VALIDITY.targetsDays))
    .addOption(
      daysOption('--timestamp-days <n>', 'machines take what is signed for so many days', VALIDITY.timestampDays),
    );
}

function daysOption(words: string, description: string, days: number): Option {
  return new Option(words, description).default(days).argParser((text) => {
    const value = Number(text);
    if (!(Number.isInteger(value) && value >= 1 && value <= DAYS_MAX))
      throw new InvalidArgumentError(`It should be a whole number from 1 to ${DAYS_MAX}.`);
    return value;
  });
}

/** The directory of the releases. */
export function repositoryOf({ dir }: DirectoryFlags): Repository {
  return new Repository(dir);
}

/** Now, and for how long. */
export function signingTime({ rootDays, targetsDays, timestampDays }: ValidityFlags): SigningTime {
  return { nowMs: Date.now(), validity: { rootDays, targetsDays, timestampDays } };
}

/** The keys of a directory, opened. */
export function openedKeys(flags: KeyFlags): Promise<readonly SigningKey[]> {
  return readKeys(flags.keys, () => knownPassphrase(flags));
}

/** The passphrase of keys that are there. */
export async function knownPassphrase({ passphraseFile }: Pick<KeyFlags, 'passphraseFile'>): Promise<string> {
  if (passphraseFile !== undefined) return passphraseIn(passphraseFile);
  if (!process.stdin.isTTY)
    throw new Problem('the keys have a passphrase, and nobody can be asked here: use --passphrase-file', EXIT.usage);
  return hiddenLine('Passphrase of the keys: ', 'passphrase');
}

/** The passphrase for new keys; null: none is wanted. */
export async function newPassphrase(flags: {
  readonly passphrase?: boolean;
  readonly passphraseFile?: string;
}): Promise<string | null> {
  if (flags.passphraseFile !== undefined) return longEnough(passphraseIn(flags.passphraseFile));
  if (flags.passphrase !== true) return null;
  if (!process.stdin.isTTY)
    throw new Problem('--passphrase asks on a terminal, and this is none: use --passphrase-file', EXIT.usage);
  const passphrase = longEnough(await hiddenLine('Passphrase for the new keys: ', 'passphrase'));
  if ((await hiddenLine('Again: ', 'passphrase')) !== passphrase)
    throw new Problem('the two passphrases differ', EXIT.usage);
  return passphrase;
}

function longEnough(passphrase: string): string {
  if (passphrase.length >= PASSPHRASE_MIN) return passphrase;
  throw new Problem(`the passphrase is too short: it should have ${PASSPHRASE_MIN} characters or more`, EXIT.usage);
}

function passphraseIn(file: string): string {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem(
      `--passphrase-file: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? ''})`,
      EXIT.usage,
    );
  }
  const [line = ''] = text.split(/\r?\n/u);
  if (line === '') throw new Problem(`--passphrase-file: ${file} holds no passphrase`, EXIT.usage);
  return line;
}
