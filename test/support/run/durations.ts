/**
 * How long each test file takes: the longest are started first, so that two workers end together, and named at the end,
 * so that they shrink.
 */
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';

/** Variable with the path of the file that each test file's process adds a line to (see duration-recorder.ts). */
export const DURATIONS_VARIABLE = 'EDGE_TEST_DURATIONS';

/** Variable that has a run of all tests keep its durations for later runs. */
export const KEEP_VARIABLE = 'EDGE_TEST_KEEP_DURATIONS';

/** What `ava.config.js` sorts by: seconds by file. */
const KEPT_PATH = new URL('../../durations.json', import.meta.url);

/** Files that take less are not kept: their order makes no difference. In s. */
const KEPT_SECONDS_MIN = 3;

/** So many are named at the end. */
const NAMED_FILES = 20;

/** Clock ticks a second in /proc. Source: proc_pid_stat(5), sysconf(_SC_CLK_TCK) on Linux. */
const TICKS_PER_SECOND = 100;

/** What a test file took: by the clock, and of the processor with all programs that it started and that ended. In s. */
export interface Duration {
  readonly file: string;
  readonly seconds: number;
  readonly processorSeconds: number;
  /** The part of it that its own process took. */
  readonly ownProcessorSeconds: number;
}

/** A file that began, and in which process. */
interface Begun {
  readonly file: string;
  readonly pid: number;
}

/** The line that the process of a test file adds when it begins. */
export function beginLine(file: string): string {
  return `${JSON.stringify({ file, pid: process.pid } satisfies Begun)}\n`;
}

/** The line that it adds at its end, after so many ms. */
export function durationLine(file: string, ms: number): string {
  const seconds = ms / 1_000;
  const { user, system } = process.cpuUsage();
  const ownProcessorSeconds = (user + system) / 1_000_000;
  const processorSeconds = ownProcessorSeconds + processorSecondsOfChildren();
  return `${JSON.stringify({ file, seconds, processorSeconds, ownProcessorSeconds } satisfies Duration)}\n`;
}

/** Of those that ended; none where there is no /proc. */
function processorSecondsOfChildren(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /su, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}

function linesIn(text: string): readonly (Begun | Duration)[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Begun | Duration);
}

/** Of what processes of test files wrote: those that began and did not end. */
export function begunIn(text: string): readonly Begun[] {
  const lines = linesIn(text);
  const ended = new Set(lines.filter((line) => 'seconds' in line).map(({ file }) => file));
  return lines.filter((line): line is Begun => 'pid' in line && !ended.has(line.file));
}

/** What the files of a run took, longest first. */
export async function durationsIn(path: string): Promise<readonly Duration[]> {
  return linesIn(await readFile(path, 'utf8'))
    .filter((line) => 'seconds' in line)
    .toSorted((one, other) => other.seconds - one.seconds);
}

/** Two lines that name those that took longest, and those that kept the processor busy. */
export function longestOf(durations: readonly Duration[]): string {
  const named = (of: (duration: Duration) => number): string =>
    durations
      .toSorted((one, other) => of(other) - of(one))
      .slice(0, NAMED_FILES)
      .map((one) => `${one.file.replace(/^test\//u, '').replace(/\.test\.ts$/u, '')} ${Math.round(of(one))} s`)
      .join(', ');
  const sum = (of: (duration: Duration) => number): number =>
    Math.round(durations.reduce((total, one) => total + of(one), 0));
  return [
    `Longest: ${named(({ seconds }) => seconds)}`,
    `Of the processor: ${sum((one) => one.processorSeconds)} s, ${sum((one) => one.ownProcessorSeconds)} s of it in the processes of the tests themselves; most for ${named((one) => one.processorSeconds)}`,
  ].join('\n');
}

/** Keeps them for later runs. */
export async function keepDurations(durations: readonly Duration[]): Promise<void> {
  const kept = durations
    .filter(({ seconds }) => seconds >= KEPT_SECONDS_MIN)
    .map(({ file, seconds }) => [file, Math.round(seconds)]);
  await writeFile(KEPT_PATH, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}
