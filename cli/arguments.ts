/** Values of flags, checked before anything is asked of the service. */
import { InvalidArgumentError, Option } from 'commander';
import { EXIT, Problem } from './problem.ts';

/** Rows that a list shows when --limit is not given. */
const ROWS_DEFAULT = 1_000;

/** `--limit N` of lists. */
export function limitOption(): Option {
  return new Option('--limit <n>', 'most rows to show').argParser(positiveInteger).default(ROWS_DEFAULT);
}

/** A whole number from 1. */
export function positiveInteger(text: string): number {
  if (!isPositiveInteger(text)) throw new InvalidArgumentError('It should be a whole number from 1.');
  return Number(text);
}

/** A whole number, also below 0. */
export function integer(text: string): number {
  if (!/^-?\d{1,15}$/u.test(text)) throw new InvalidArgumentError('It should be a whole number.');
  return Number(text);
}

function isPositiveInteger(text: string): boolean {
  return Number.isSafeInteger(Number(text)) && Number(text) >= 1;
}

function isUnlimited(text: string): boolean {
  return text === 'unlimited' || text === 'none';
}

/** Comma-separated words, from one flag or several. */
export function words(text: string, before: readonly string[] = []): readonly string[] {
  const more = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (more.length === 0) throw new InvalidArgumentError('It should be one name or several with commas.');
  return [...before, ...more];
}

/** The same of words from a list, for a flag of this name. */
export function wordsOf<Word extends string>(
  flag: string,
  known: readonly Word[],
): (text: string, before?: readonly Word[]) => readonly Word[] {
  return (text, before = []) => [...before, ...words(text).map((word) => knownWord(flag, known, word))];
}

/** One word of a list, for a flag of this name. */
export function wordOf<Word extends string>(flag: string, known: readonly Word[]): (text: string) => Word {
  return (text) => knownWord(flag, known, text);
}

function knownWord<Word extends string>(flag: string, known: readonly Word[], given: string): Word {
  const found = known.find((word) => word === given.trim().toLowerCase());
  if (found !== undefined) return found;
  throw new Problem(
    `${flag} is "${given}": it should be ${known.slice(0, -1).join(', ')} or ${known.at(-1) ?? ''}`,
    EXIT.usage,
  );
}

/** Whole values of a flag that may be given several times. */
export function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** `unlimited` or a whole number from 1, of a flag: commander makes an empty text of a null. */
export function limitFlag(text: string): number | 'unlimited' {
  return isUnlimited(text) ? 'unlimited' : positiveInteger(text);
}

/** The same of a word that is no flag, for what it is called; null: unlimited. */
export function limitWord(what: string, text: string): number | null {
  if (isUnlimited(text)) return null;
  if (isPositiveInteger(text)) return Number(text);
  throw new Problem(`${what} is "${text}": it should be a whole number from 1, or unlimited`, EXIT.usage);
}
