/** Bodies that are unpacked by other threads: those that nobody wants any more take none. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { unpack } from '../../../../transport/tunnels/gzip-body.ts';
import { ROOT } from '../../../support/source/source-text.ts';

const execute = promisify(execFile);

/** Longer than what is unpacked at once. */
const LONG = Buffer.alloc(300_000, 'up 1\n');
const PACKED = gzipSync(LONG);

test('of those that wait for a thread only what is still wanted is unpacked, in its turn', async (t) => {
  const told: string[] = [];
  const ends = ['first', 'second', 'given up', 'last'].map((name) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (name === 'given up') resolve();
    unpack(PACKED, LONG.length, {
      isWanted: () => name !== 'given up',
      unpacked(body) {
        told.push(`${name} ${body?.length}`);
        resolve();
      },
    });
    return promise;
  });

  await Promise.all(ends);

  t.deepEqual(told.toSorted(), ['first 300000', 'last 300000', 'second 300000']);
});

/** In a process of its own, where nothing else is: how often V8 collects the whole heap for 6,000 bodies. */
const COLLECTED = `
  import { constants, PerformanceObserver } from 'node:perf_hooks';
  import { setImmediate } from 'node:timers/promises';
  import { gzipSync } from 'node:zlib';
  import { unpack } from '${ROOT}/transport/tunnels/gzip-body.ts';
  import { createMinorGc } from '${ROOT}/transport/tunnels/minor-gc.ts';
  const BYTES = 60_000;
  const collect = createMinorGc(1);
  const packed = gzipSync(Buffer.alloc(BYTES, 'up 1\\n'));
  let whole = 0;
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) whole += 1;
  }).observe({ entryTypes: ['gc'] });
  for (let body = 0; body < 6_000; body += 1) {
    unpack(packed, BYTES, { isWanted: () => true, unpacked: () => {} });
    collect(1);
    await setImmediate();
  }
  process.stdout.write(String(whole));`;

test('of a body that was unpacked nothing is kept for which the whole heap has to be collected', async (t) => {
  const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', COLLECTED]);

  t.true(Number(stdout) <= 8, stdout); // some 5 for what else comes and goes, and 12 where each body is kept
});
