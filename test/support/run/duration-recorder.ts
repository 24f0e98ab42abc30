/**
 * Ava loads this in the process of each test file, which waits here for its place. It says how long that took, where
 * somebody asked, and ends a process that stays after its tests, or that somebody sends SIGUSR2, with what it waits
 * for: ava's own limit counts from the last sign of any file, and is passed over once where a test has asked for more
 * time.
 */
import { appendFileSync } from 'node:fs';
import { setSourceMapsSupport } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';
import { beginLine, DURATIONS_VARIABLE, durationLine } from './durations.ts';
import { openHandles } from './open-handles.ts';
import { PLACES_VARIABLE, takePlace } from './places.ts';

/** A process that has run its tests closes what it opened within this, in ms. */
const ENDING_MS_MAX = 30_000;

// Tests run as they are written, and ava has the maps of all packages read.
setSourceMapsSupport(false);

const file = relative(process.cwd(), fileURLToPath(test.meta.file));
const path = process.env[DURATIONS_VARIABLE];
const places = process.env[PLACES_VARIABLE];

/** Ava calls this, and waits for it, before it loads the tests. */
export default async function begin(): Promise<void> {
  if (places !== undefined) await takePlace(places);
  if (path === undefined) return;
  const beganMs = performance.now();
  appendFileSync(path, beginLine(file));
  process.once('exit', () => appendFileSync(path, durationLine(file, performance.now() - beganMs)));
}

function giveUp(what: string): never {
  process.stderr.write(`${file} ${what}, as these are open: ${openHandles().join(', ')}\n`);
  process.exit(1);
}

process.once('SIGUSR2', () => giveUp('hangs'));

registerCompletionHandler(() => {
  setTimeout(() => giveUp('has run its tests and does not end'), ENDING_MS_MAX).unref();
});
