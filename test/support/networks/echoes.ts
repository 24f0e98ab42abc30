/**
 * Echoes that a machine asks for with `ping`, and how many of them got lost. One that comes late is not lost: by itself
 * `ping` ends two round trips after its last packet, which is before the answers of a path that held packets back for a
 * moment.
 */
import { isCrowded } from '../busy.ts';
import type { Machine } from './machine.ts';

/** Echoes asked for after those that count, so that answers which overtook others do not end the wait for these. */
const MORE = 5;

/** Timeout of answers after the last echo that counts, in s. */
const LATE_SECONDS_MAX = 10;

/**
 * Words for `ping`, for `lostOf` of its output. It ends when as many were answered, which may take more than so many.
 */
export function echoWords(target: string, count: number, intervalSeconds: number): string[] {
  const echoes = count + MORE;
  return [
    '-n',
    '-c',
    `${echoes}`,
    '-i',
    `${intervalSeconds}`,
    '-w',
    `${Math.ceil(echoes * intervalSeconds) + LATE_SECONDS_MAX}`,
    target,
  ];
}

/**
 * Echoes that may be lost while nothing is wrong: none, but where the processors are all taken, and one in some hundred
 * is dropped.
 */
export function strayLostMax(): number {
  return isCrowded() ? 2 : 0;
}

/** How many of the first `count` echoes were not answered, by what `ping` printed. */
export function lostOf(output: string, count: number): number {
  const answered = new Set(
    [...output.matchAll(/ bytes from .* icmp_seq=(\d+) /gu)].map(([, number]) => Number(number)),
  );
  return Array.from({ length: count }, (_, index) => index + 1).filter((number) => !answered.has(number)).length;
}

/** Asks for so many echoes, and says how many got lost. `words` go to `ping`. */
export async function lostEchoes(
  machine: Machine,
  target: string,
  count: number,
  { intervalSeconds = 0.05, words = [] as readonly string[] } = {},
): Promise<number> {
  const { stdout } = await machine
    .run('ping', [...words, ...echoWords(target, count, intervalSeconds)])
    .catch((error: Error & { readonly stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  return lostOf(stdout, count);
}
