import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import test from 'ava';
import { reset } from '../../../../../transport/net/streams/reset.ts';
import { http2Pair, rest, tcpPair } from '../../../../support/net/stream-pairs.ts';

test('a reset of a socket is a reset for its peer, and bytes that wait are lost', async (t) => {
  const { ours, theirs } = await tcpPair(t);
  const heard = once(theirs, 'error');
  for (let count = 0; count < 512; count += 1) ours.write(Buffer.alloc(65_536));
  const closed = once(ours, 'close');

  reset(ours);
  await closed;
  theirs.resume();

  t.like((await heard)[0], { code: 'ECONNRESET' });
});

for (const [when, wait] of [
  ['just after its end', async () => {}],
  [
    'a moment after its end',
    () =>
      new Promise<void>((resolve) => {
        setImmediate(resolve);
      }),
  ],
] as const) {
  test(`a socket that is reset ${when} closes, and does not stay for ever`, async (t) => {
    const { ours, theirs } = await tcpPair(t);
    const heard = rest(theirs);
    const closed = once(ours, 'close');
    ours.end('last');

    await wait();
    reset(ours);
    reset(ours);
    await closed;

    await heard;
    t.true(ours.destroyed);
  });
}

test('an HTTP/2 stream that is reset has no end at its peer', async (t) => {
  const { ours, theirs } = await http2Pair(t);
  ours.write('half');
  await once(theirs, 'readable');
  const heard = rest(theirs);
  let ends = 0;
  theirs.once('end', () => {
    ends += 1;
  });

  reset(ours);
  await heard;

  t.is(ends, 0);
});

test('another stream is destroyed, and one that is destroyed stays as it is', async (t) => {
  const stream = new PassThrough();
  const closed = Promise.withResolvers<void>();
  stream.once('close', closed.resolve);

  reset(stream);
  reset(stream);
  await closed.promise;

  t.true(stream.destroyed);
});
