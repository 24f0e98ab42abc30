/** A connection as a stream of bytes: how it ends, and what of what came is still handed on. */
import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';
import test from 'ava';
import type { Intake } from '../../../../../transport/net/streams/paced-pieces.ts';
import { socketStream } from '../../../../../transport/net/streams/socket-stream.ts';
import { listening } from '../../../../support/net/listening.ts';
import type { Scope } from '../../../../support/scope.ts';
import { until } from '../../../../support/until.ts';

/** Tenths of what came, one each so many ms. */
const IN_TENTHS: Intake = {
  take: (chunk) =>
    Array.from({ length: 10 }, (_none, tenth) => ({
      bytes: chunk.subarray((tenth * chunk.length) / 10, ((tenth + 1) * chunk.length) / 10),
      cost: 1,
    })),
  pass: (waiting) => ({ count: Math.min(1, waiting.length), waitMs: waiting.length > 1 ? 20 : 0 }),
};

/** For so long a peer may keep its side open after ours has ended, in ms. */
const CLOSE_MS_MAX = 100;

/** Both ends of a connection. The near one ends its side only when it is told to. */
async function connection(t: Scope): Promise<{ readonly near: Socket; readonly far: Socket }> {
  const server = createServer({ allowHalfOpen: true });
  const port = await listening(t, server);
  const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  far.on('error', () => {});
  const [near] = (await once(server, 'connection')) as [Socket];
  t.teardown(() => void far.destroy());
  return { near, far };
}

test('a peer that does not end its side after ours has ended is cut', async (t) => {
  const { near, far } = await connection(t);
  const stream = socketStream(near, 65_536, { closeMsMax: CLOSE_MS_MAX });
  stream.resume();

  const closed = once(near, 'close').then(() => performance.now());
  const endedMs = performance.now();
  stream.end('goodbye');
  far.resume();
  await once(far, 'end');

  await until('both are over', () => near.destroyed && stream.destroyed);

  t.true((await closed) - endedMs >= CLOSE_MS_MAX - 1, 'it had its time');
});

for (const how of ['closes', 'is reset'] as const)
  test(`what came is handed on to its end although the connection ${how} meanwhile, and is written to`, async (t) => {
    const { near, far } = await connection(t);
    const stream = socketStream(near, 65_536, { intake: IN_TENTHS });
    const [came, faults]: [Buffer[], Error[]] = [[], []];
    stream.on('data', (bytes: Buffer) => came.push(bytes));
    stream.on('error', (error) => faults.push(error));
    far.write(Buffer.alloc(1_000, 7));
    await until('the first of it', () => came.length > 0);

    if (how === 'closes') far.destroy();
    else far.resetAndDestroy();
    const writing = setInterval(() => stream.writable && stream.write('more'), 5);
    t.teardown(() => clearInterval(writing));
    await once(stream, 'close');

    t.is(Buffer.concat(came).length, 1_000);
    t.deepEqual(faults, []);
  });
