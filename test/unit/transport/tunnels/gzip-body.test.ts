/** Bodies that are unpacked by other threads: those that nobody wants any more take none. */
import test from 'ava';
import { gzipSync } from 'node:zlib';
import { unpack } from '../../../../transport/tunnels/gzip-body.ts';

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
