/**
 * Loaded before a program (`--import`): counts what it gives its event loop to do, by kind. On SIGUSR2 it writes the
 * counts to COUNTS_FILE as JSON, in one go, and goes on counting.
 */
import { createHook } from 'node:async_hooks';
import { renameSync, writeFileSync } from 'node:fs';

const counts: Record<string, number> = {};
const file = process.env['COUNTS_FILE'];
if (file === undefined) throw new Error('COUNTS_FILE must say where the counts go');

createHook({
  init(_id, kind) {
    counts[kind] = (counts[kind] ?? 0) + 1;
  },
}).enable();

process.on('SIGUSR2', () => {
  writeFileSync(`${file}.part`, JSON.stringify(counts));
  renameSync(`${file}.part`, file);
});
