/**
 * How long each test file takes: the longest are started first, so that two workers end together, and named at the end,
 * so that they shrink.
 */
import { readFile, writeFile } from 'node:fs/promises';

/** Variable with the path of the file that each test file's process adds a line to (see duration-recorder.ts). */
export const DURATIONS_VARIABLE = 'EDGE_TEST_DURATIONS';

/** Variable that has a run of all tests keep its durations for later runs. */
export const KEEP_VARIABLE = 'EDGE_TEST_KEEP_DURATIONS';

/** What `ava.config.js` sorts by: seconds by file. */
const KEPT_PATH = new URL('../durations.json', import.meta.url);

/** Files that take less are not kept: their order makes no difference. In s. */
const KEPT_SECONDS_MIN = 3;

/** So many are named at the end. */
const NAMED_FILES = 20;

/** Before the name of a file that begins. */
const BEGIN = 'begin ';

/** A file and what it took, in s. */
export type Duration = readonly [file: string, seconds: number];

/** One line of the file that processes of test files add to. */
export function durationLine(file: string, tookMs: number): string {
  return `${file} ${(tookMs / 1_000).toFixed(1)}\n`;
}

/** The line that says that a file began, and in which process. */
export function beginLine(file: string, pid: number): string {
  return `${BEGIN}${pid} ${file}\n`;
}

/** Of what processes of test files wrote: those that began and did not end. */
export function begunIn(text: string): readonly { readonly file: string; readonly pid: number }[] {
  const lines = text.split('\n');
  const ended = new Set(
    lines.filter((line) => !line.startsWith(BEGIN)).map((line) => line.slice(0, line.lastIndexOf(' '))),
  );
  return lines
    .filter((line) => line.startsWith(BEGIN))
    .map((line) => {
      const [pid = '', ...file] = line.slice(BEGIN.length).split(' ');
      return { file: file.join(' '), pid: Number(pid) };
    })
    .filter(({ file }) => !ended.has(file));
}

/** What the files of a run took, longest first. */
export async function durationsIn(path: string): Promise<readonly Duration[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith(BEGIN));
  return lines
    .map((line): Duration => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))])
    .toSorted(([, one], [, other]) => other - one);
}

/** One line that names those that took longest. */
export function longestOf(durations: readonly Duration[]): string {
  return durations
    .slice(0, NAMED_FILES)
    .map(([file, seconds]) => `${file.replace(/^test\//u, '').replace(/\.test\.ts$/u, '')} ${Math.round(seconds)} s`)
    .join(', ');
}

/** Keeps them for later runs. */
export async function keepDurations(durations: readonly Duration[]): Promise<void> {
  const kept = durations
    .filter(([, seconds]) => seconds >= KEPT_SECONDS_MIN)
    .map(([file, seconds]) => [file, Math.round(seconds)]);
  await writeFile(KEPT_PATH, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
