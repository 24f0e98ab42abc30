/** How long a machine runs: told also where no file can be opened, and by the same clock as before. */
import { execFile } from 'node:child_process';
import { closeSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { Uptime } from '../../../../transport/net/uptime.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

test('it is what the file says, read anew each time, also once the file cannot be opened any more', (t) => {
  const path = join(temporaryDirectory(t), 'uptime');
  writeFileSync(path, '3600.50 7000.00\n');
  const uptime = new Uptime(path);

  t.is(uptime.aliveMs(), 3_600_500);
  writeFileSync(path, '3601.25 7001.00\n');
  rmSync(path);
  t.is(uptime.aliveMs(), 3_601_250);
});

test('while it cannot be read it goes on by another clock from what was read last', (t) => {
  const path = join(temporaryDirectory(t), 'uptime');
  writeFileSync(path, '100.00 1.00\n');
  const uptime = new Uptime(path);
  const beganMs = uptime.aliveMs();
  const wallMs = performance.now();
  writeFileSync(path, 'nonsense');

  const laterMs = uptime.aliveMs();

  t.true(laterMs >= beganMs && laterMs - beganMs <= performance.now() - wallMs + 1);
});

test('one that fails is opened anew, and nothing else is closed or read in its place', (t) => {
  const path = join(temporaryDirectory(t), 'uptime');
  writeFileSync(path, '3600.50 7000.00\n');
  const lowest = openSync('/dev/null', 'r'); // the number that it will have
  closeSync(lowest);
  const uptime = new Uptime(path);
  uptime.aliveMs();
  closeSync(lowest); // behind its back, as a mount whose server died closes it

  t.true(uptime.aliveMs() >= 3_600_500);
  const others = openSync(path, 'r');
  writeFileSync(path, '3700.00 7000.00\n');
  t.is(uptime.aliveMs(), 3_700_000);
  t.is(readSync(others, Buffer.alloc(4), 0, 4, 0), 4, 'it is open still');
  closeSync(others);
});

/** Looks at both clocks while it may open no further file, and prints how far the one went in a time of the other. */
const FULL = `
import { openSync } from 'node:fs';
import { createLeaseClock } from ${JSON.stringify(new URL('../../../../transport/net/clock.ts', import.meta.url).href)};
const clock = createLeaseClock();
clock();
try { for (;;) openSync('/dev/null'); } catch (error) { if (error.code !== 'EMFILE') throw error; }
const [began, leased] = [performance.now(), clock()];
while (performance.now() - began < 2_500) { clock(); await new Promise((resolve) => setTimeout(resolve, 20)); }
process.stdout.write(JSON.stringify({ real: performance.now() - began, lease: clock() - leased }));`;

test('a clock of leases goes as fast as time while a program can open no file', async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'full.mjs');
  writeFileSync(file, FULL);

  const { stdout } = await promisify(execFile)('sh', ['-c', `ulimit -n 64; exec "$0" "$1"`, process.execPath, file]);

  const { real, lease } = JSON.parse(stdout) as { real: number; lease: number };
  t.true(Math.abs(lease - real) < real / 10, `${lease} of ${real} ms`);
});
