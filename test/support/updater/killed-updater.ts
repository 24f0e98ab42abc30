/**
 * An updater that is killed at the point that EDGE_TEST_KILL_AT names: before its n-th change of the disk that counts.
 * What it had written and not synced by then is NULs afterwards, as after a power cut. Without it, one that ends.
 */
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const AT = Number(process.env['EDGE_TEST_KILL_AT'] ?? 0);
const unsynced = new Set<string>();
const opened = new Map<number, string>();
let points = 0;

/** One more point: the end, where it is the one that was asked for. */
function point(): void {
  points += 1;
  if (points !== AT) return;
  for (const path of unsynced) {
    const size = original.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > 0) original.writeFileSync(path, Buffer.alloc(size));
  }
  process.kill(process.pid, 'SIGKILL');
}

const original = { ...fs, open: promises.open };

function patch(): void {
  fs.openSync = (path, flags, mode) => {
    const file = original.openSync(path, flags, mode);
    if (flags !== undefined && flags !== 'r') unsynced.add(String(path));
    opened.set(file, String(path));
    return file;
  };
  fs.fsyncSync = (file) => {
    point();
    original.fsyncSync(file);
    unsynced.delete(opened.get(file) ?? '');
  };
  fs.renameSync = (from, to) => {
    point();
    original.renameSync(from, to);
    if (unsynced.delete(String(from))) unsynced.add(String(to));
  };
  fs.symlinkSync = (target, path) => {
    point();
    original.symlinkSync(target, path);
  };
  fs.rmSync = (path, options) => {
    point();
    original.rmSync(path, options);
  };
  fs.writeFileSync = (path, data, options) => {
    original.writeFileSync(path, data, options);
    unsynced.add(String(path));
  };
  promises.open = async (path, flags, mode) => {
    const handle = await original.open(path, flags, mode);
    unsynced.add(String(path));
    const sync = handle.sync.bind(handle);
    handle.sync = async () => {
      point();
      await sync();
      unsynced.delete(String(path));
    };
    return handle;
  };
  syncBuiltinESMExports();
}

patch();
const { createLog } = await import('../../../agent/log.ts');
const { askedUpdate } = await import('./asked-update.ts');
const { outcome } = await askedUpdate(process.env, createLog('info', false));
process.stdout.write(`${JSON.stringify({ points, outcome })}\n`);
process.exit(0);
