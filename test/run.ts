/**
 * Runs the tests, all or those that the arguments name (they go to ava), against one PostgreSQL of their own, which
 * unit tests do without. The last line is `N passed, N failed` and, where some were left out, `, N skipped`. The exit
 * status is 0 only when something passed and nothing failed. Programs that the tests talk to are installed first, where
 * that can be done (see support/peers.ts); the line before the last names those that are missing, which in CI fails the
 * run.
 *
 * When no more than RETRIED_TESTS_MAX tests failed, their files are run once more, by themselves. What passes then is
 * named as failed once, with its failure above: a fault of the test or of the code that somebody has to find. It goes
 * when `test/under-load.sh` passes.
 * By root on Linux the run has namespaces of its own, so that no process, interface, network or directory stays behind,
 * also when it is killed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildConsole, CONSOLE_DIST } from '../deploy/console.ts';
import {
  begunIn,
  DURATIONS_VARIABLE,
  durationsIn,
  KEEP_VARIABLE,
  keepDurations,
  longestOf,
} from './support/run/durations.ts';
import { enterOwnNamespaces } from './support/run/own-namespaces.ts';
import { SHARED_VARIABLE } from './support/run/once-a-run.ts';
import { peerCache } from './support/peers/peer.ts';
import { Places, PLACES_VARIABLE } from './support/run/places.ts';
import { isUnitTest, preparePeers, selectedFiles } from './support/run/peers.ts';
import { makePrograms, PROGRAMS_VARIABLE } from './support/run/programs.ts';
import { SERVER_VARIABLE, startTestServer } from './support/database/server.ts';
import { TOGETHER_DIRECTORY, TOGETHER_VARIABLE } from './support/run/together.ts';

/** The line of a test that passed. Counted one by one, since ava's closing lines leave them out when others failed. */
const PASSED_LINE = /^\s*✔ /u;

/** Ava's closing lines, and what each counts as. Source: endRun in ava/lib/reporters/default.js. */
const CLOSING_LINES: readonly (readonly [RegExp, Exclude<keyof Counts, 'failures' | 'crashed'>])[] = [
  [/^\s*(\d+) (?:tests?|hooks?) failed/u, 'failed'],
  [/^\s*(\d+) (?:unhandled rejections?|uncaught exceptions?)/u, 'failed'],
  [/^\s*(\d+) tests? remained pending/u, 'failed'],
  [/^\s*(\d+) tests? (?:skipped|todo)/u, 'skipped'],
];

/** The line of a test that failed: its title, and what was wrong. Source: ava/lib/reporters/default.js. */
const FAILED_LINE = /^\s*✘ \[fail\]: (?<title>.+)$/u;

/** The line of a file that ended as it should not. Closing lines say nothing of it. Source: the same. */
const CRASHED_LINE = /^\s*✘ (?<file>\S+) exited (?:with a non-zero exit code|due to)/u;

/** Tests that may fail and be given another try. More than these are no accident. */
const RETRIED_TESTS_MAX = 3;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** Titles of the tests that failed. What failed besides (hooks, exceptions that nobody caught) is counted alone. */
  readonly failures: string[];
  /** Files that crashed or did not end, which are not among those that failed. */
  readonly crashed: string[];
}

/**
 * A run in which no test passes or fails for so long stands still: it is ended, and says which files are at fault. In
 * ms.
 */
const SILENT_MS_MAX = 600_000;

/** Files that hang get this long to say what they wait for, in ms. */
const SAYING_MS = 5_000;

/** From so many files on, making the bundle of our programs takes less than it saves. */
const BUNDLED_FILES_MIN = 12;

/** Tests that look at the console as it is now. */
const CONSOLE_TESTS = 'system/console/';

/** Compiled code is kept here between runs: each start of a program takes half the processor time then. */
const CODE_CACHE = peerCache('code');

/** Variable by which the run outside of its namespaces tells the one inside which peers are missing. */
const MISSING_VARIABLE = 'EDGE_TEST_MISSING_PEERS';

const told = process.env[MISSING_VARIABLE];
const missing =
  told === undefined
    ? await preparePeers(process.argv.slice(2), (line) => process.stdout.write(`${line}\n`))
    : (JSON.parse(told) as string[]);
const outside = enterOwnNamespaces({ [MISSING_VARIABLE]: JSON.stringify(missing) });
if (outside !== null) process.stdout.write(`What the tests start may stay behind if they are killed: ${outside}.\n`);
const selected = selectedFiles(process.argv.slice(2)).filter((path) => !isUnitTest(path));
const server = selected.length > 0 ? await startTestServer() : null;
const shared = await sharedDirectory();
let programs: Awaited<ReturnType<typeof makePrograms>> | null = null;
let status = 1;
try {
  if (selected.some((path) => path.includes(CONSOLE_TESTS))) await buildConsole(CONSOLE_DIST);
  if (selected.length >= BUNDLED_FILES_MIN) programs = await makePrograms();
  status = await runTests();
} finally {
  await programs?.remove();
  if (shared !== null) await rm(shared, { recursive: true, force: true });
  await server?.stop();
}
process.exitCode = status;

/** Where test files leave what others need too. */
async function sharedDirectory(): Promise<string | null> {
  if (selected.length === 0) return null;
  const directory = await mkdtemp(join(tmpdir(), 'edge-shared-'));
  await chmod(directory, 0o755); // programs run by other users are started from there
  return directory;
}

async function runTests(): Promise<number> {
  const words = process.argv.slice(2);
  const counts = await runTimed(words);
  const files = filesOf(counts.failures, words);
  const isNamed = counts.failed === counts.failures.length && (counts.failed === 0 || files.length > 0);
  counts.failed += counts.crashed.length;
  const retried =
    counts.passed > RETRIED_TESTS_MAX && isNamed && counts.failed <= RETRIED_TESTS_MAX
      ? [...new Set([...files, ...counts.crashed])]
      : [];
  if (retried.length > 0) {
    process.stdout.write(`\nRunning again, by themselves: ${retried.join(' ')}\n`);
    const again = await runAva(['--concurrency', '1', ...retried]);
    if (again.failed + again.crashed.length === 0) {
      for (const title of [...counts.failures, ...counts.crashed])
        process.stdout.write(`Failed once and passed by itself, see above: ${title}\n`);
      counts.passed += counts.failures.length;
      counts.failed = 0;
    }
  }
  if (missing.length > 0) process.stdout.write(`Peers not found: ${missing.join(', ')}\n`);
  process.stdout.write(
    `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}\n`,
  );
  return counts.failed > 0 || counts.passed === 0 || (missing.length > 0 && process.env['CI']) ? 1 : 0;
}

/** Runs them, and names the files that took longest where it was all of them, with whatever options of ava. */
async function runTimed(words: readonly string[]): Promise<Counts> {
  if (selectedFiles(words).length < selectedFiles([]).length) return runAva(words);
  const directory = await mkdtemp(join(tmpdir(), 'edge-durations-'));
  const path = join(directory, 'durations');
  await writeFile(path, '');
  const counts = await runAva(words, { [DURATIONS_VARIABLE]: path });
  const durations = await durationsIn(path);
  await rm(directory, { recursive: true });
  process.stdout.write(`\n${longestOf(durations)}\n`);
  if (process.env[KEEP_VARIABLE] === 'yes') await keepDurations(durations);
  return counts;
}

async function runAva(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Counts> {
  const directory = await mkdtemp(join(tmpdir(), 'edge-places-'));
  const path = join(directory, 'socket');
  const places = await Places.open(path);
  try {
    return await runAvaWith(words, { ...env, [PLACES_VARIABLE]: path });
  } finally {
    places.close();
    await rm(directory, { recursive: true });
  }
}

async function runAvaWith(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Counts> {
  const ava = spawn('ava', words, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...env,
      TERM: 'xterm',
      NODE_COMPILE_CACHE: CODE_CACHE,
      ...(selectedFiles(words).some((path) => path.includes(TOGETHER_DIRECTORY)) && { [TOGETHER_VARIABLE]: 'yes' }),
      ...(server !== null && { [SERVER_VARIABLE]: JSON.stringify(server.connection) }),
      ...(shared !== null && { [SHARED_VARIABLE]: shared }),
      ...(programs !== null && { [PROGRAMS_VARIABLE]: programs.directory }),
      ...(process.stdout.isTTY && { FORCE_COLOR: '1' }),
    }, // on TERM=linux ava would write other signs
  });
  const onSignal = (signal: NodeJS.Signals) => {
    ava.kill(signal);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);

  const silence = setTimeout(() => {
    const hanging = unfinished(env);
    process.stdout.write(
      `Ended after ${SILENT_MS_MAX / 60_000} minutes without a sign. Not done: ${hanging.map(({ file }) => file).join(', ')}\n`,
    );
    for (const { pid } of hanging)
      try {
        process.kill(pid, 'SIGUSR2'); // it says what it waits for, and ends
      } catch {
        // ended meanwhile
      }
    setTimeout(() => ava.kill('SIGTERM'), SAYING_MS).unref();
  }, SILENT_MS_MAX);
  ava.stdout.on('data', () => silence.refresh());
  const counted = count(ava.stdout);
  const [code] = (await once(ava, 'close')) as [number | null];
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  clearTimeout(silence);
  const counts = await counted;
  if (code !== 0 && counts.failed + counts.crashed.length === 0) counts.failed = 1; // hung, or could not be loaded
  return counts;
}

/** The files that began and did not end, where that is written down. */
function unfinished(env: Readonly<Record<string, string>>): ReturnType<typeof begunIn> {
  const path = env[DURATIONS_VARIABLE];
  return path === undefined ? [] : begunIn(readFileSync(path, 'utf8'));
}

/**
 * The files of these tests; none when one of them cannot be told. Ava names a test by its file's path, without what all
 * files share.
 */
function filesOf(titles: readonly string[], words: readonly string[]): string[] {
  const files = selectedFiles(words);
  const found = titles.map((title) => {
    const segments = title.split(' › ');
    const fits = (file: string): number =>
      segments.findLastIndex(
        (_segment, index) => index > 0 && ` › ${nameOf(file)}`.endsWith(` › ${segments.slice(0, index).join(' › ')}`),
      );
    return (
      files.filter((file) => fits(file) > 0).toSorted((one, other) => fits(other) - fits(one))[0] ??
      (files.length === 1 ? files[0] : undefined)
    );
  });
  return found.includes(undefined) ? [] : [...new Set(found as string[])];
}

function nameOf(file: string): string {
  return file
    .replaceAll('\\', '/')
    .replace(/^test\//u, '')
    .replace(/\.test\.ts$/u, '')
    .split('/')
    .join(' › ');
}

/**
 * Passes the output on, and counts: passed tests by their lines, the others by the closing lines, which follow the last
 * rule.
 */
async function count(output: NodeJS.ReadableStream): Promise<Counts> {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0, failures: [], crashed: [] };
  for await (const line of createInterface({ input: output })) {
    process.stdout.write(`${line}\n`);
    // eslint-disable-next-line no-control-regex -- colours are control characters
    const plain = line.replaceAll(/\u001B\[[\d;]*m/gu, '');
    if (PASSED_LINE.test(plain)) counts.passed += 1;
    const title = FAILED_LINE.exec(plain)?.groups?.['title'];
    if (title !== undefined) counts.failures.push(title);
    const crashed = CRASHED_LINE.exec(plain)?.groups?.['file'];
    if (crashed !== undefined) counts.crashed.push(crashed);
    if (/^\s*─+\s*$/u.test(plain)) counts.failed = counts.skipped = 0;
    for (const [pattern, kind] of CLOSING_LINES) {
      const found = pattern.exec(plain);
      if (found) counts[kind] += Number(found[1]);
    }
  }
  return counts;
}
