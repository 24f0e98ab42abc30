/** Frames of DERP, cut out of a stream wherever it was split. */
import * as fc from 'fast-check';
import test from 'ava';
import { createFrameReader, encodeFrame } from '../../../../../transport/vpn/derp/protocol.ts';

interface Frame {
  readonly type: number;
  readonly payload: Buffer;
}

/** What a reader makes of these pieces, and its problem. */
function read(
  pieces: readonly Buffer[],
  bytesMax = 1_000,
): { readonly frames: Frame[]; readonly problem: string | null } {
  const frames: Frame[] = [];
  const reader = createFrameReader(
    () => bytesMax,
    (type, payload) => frames.push({ type, payload: Buffer.from(payload) }) > 0,
  );
  const problem = pieces.map((piece) => reader.push(piece)).find((one) => one !== null) ?? null;
  return { frames, problem };
}

const frame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  payload: fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
});

test('a stream of frames is the same frames when it is split at every byte', (t) => {
  fc.assert(
    fc.property(fc.array(frame, { minLength: 1, maxLength: 4 }), (frames) => {
      const stream = Buffer.concat(frames.map(({ type, payload }) => encodeFrame(type, payload)));
      for (let at = 0; at <= stream.length; at += 1)
        t.deepEqual(read([stream.subarray(0, at), stream.subarray(at)]), { frames, problem: null });
      t.deepEqual(read([...stream].map((byte) => Buffer.from([byte]))), { frames, problem: null });
    }),
    { numRuns: 40 },
  );
});

test('any pieces of a stream give the same frames', (t) => {
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 1, maxLength: 20 }),
      (frames, sizes) => {
        const stream = Buffer.concat(
          frames.map(({ type, payload }) => encodeFrame(type, payload.subarray(0, 3), payload.subarray(3))),
        );
        const pieces: Buffer[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          pieces.push(stream.subarray(at, at + size));
          at += size;
        }
        t.deepEqual(read(pieces), { frames, problem: null });
      },
    ),
    { numRuns: 200 },
  );
});

test('a frame that is announced as too large is a problem at its header, before any of it is kept', (t) => {
  const header = Buffer.from([4, 0xff, 0xff, 0xff, 0xff]);

  t.regex(read([header]).problem ?? '', /4294967295 bytes, above the 1000/u);
  t.regex(read([...header].map((byte) => Buffer.from([byte]))).problem ?? '', /above the 1000/u);
  t.is(read([encodeFrame(4, Buffer.alloc(1_000))]).problem, null);
});

test('a reader that has enough gets nothing more of that chunk', (t) => {
  let count = 0;
  const reader = createFrameReader(
    () => 100,
    () => {
      count += 1;
      return false;
    },
  );

  reader.push(Buffer.concat([encodeFrame(1), encodeFrame(2)]));

  t.is(count, 1);
});
