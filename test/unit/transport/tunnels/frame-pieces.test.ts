/** How bytes of a tunnel are cut between frames, and how much of them is handed on at once (L1). */
import test from 'ava';
import * as fc from 'fast-check';
import { createFramePieces } from '../../../../transport/tunnels/frame-pieces.ts';
import { FrameShare } from '../../../../transport/tunnels/frame-quota.ts';
import {
  FRAMES_HANDED_ON_PER_SECOND,
  FRAMES_PER_SECOND_MAX,
  PIECE_FRAMES_MAX,
} from '../../../../transport/tunnels/limits.ts';
import { frame, TYPE } from '../../../support/net/hostile-tunnel.ts';

/** What one frame counts as at most, of the sizes below. */
const FRAME_MAX = 50 + 2_000 / 256;

const anyFrames = fc
  .array(
    fc.record({
      type: fc.constantFrom(TYPE.data, TYPE.headers, TYPE.reset, TYPE.settings, TYPE.window),
      bytes: fc.nat(2_000),
      times: fc.integer({ min: 1, max: 400 }),
    }),
    { maxLength: 6 },
  )
  .map((runs) =>
    Buffer.concat(
      runs.flatMap(({ type, bytes, times }) =>
        Array.from({ length: times }, () => frame(type, 0, 1, Buffer.alloc(bytes, 7))),
      ),
    ),
  );

test('pieces are the same bytes, begin with a frame and hold no more than they may, in whatever chunks the bytes come', (t) => {
  fc.assert(
    fc.property(anyFrames, fc.integer({ min: 9, max: 100_000 }), (bytes, chunkBytes) => {
      const piecesOf = createFramePieces();
      const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_none, index) =>
        bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
      );
      const pieces = chunks.map((chunk) => piecesOf(chunk));
      const begins = pieces.flatMap((of) => of.slice(1)).map((piece) => piece.bytes.readUInt32BE(5));
      return (
        Buffer.concat(pieces.flat().map((piece) => piece.bytes)).equals(bytes) &&
        begins.every((stream) => stream === 1) &&
        pieces.flat().every(({ cost }) => cost <= PIECE_FRAMES_MAX + FRAME_MAX)
      );
    }),
    { numRuns: 50 },
  );
  t.pass();
});

test('a chunk of bulk data stays whole, and a frame that is more than a piece is one', (t) => {
  const piecesOf = createFramePieces();
  const bulk = Buffer.concat(Array.from({ length: 15 }, () => frame(TYPE.data, 0, 1, Buffer.alloc(65_536))));
  const large = frame(TYPE.settings, 0, 0, Buffer.alloc(65_400));

  t.deepEqual(
    [bulk, Buffer.concat([large, large])].map((bytes) => piecesOf(bytes).map((piece) => piece.bytes.length)),
    [[bulk.length], [large.length, large.length]],
  );
});

test('a large frame that comes in messages of a few bytes counts by its messages', (t) => {
  const piecesOf = createFramePieces();
  const bytes = frame(TYPE.data, 0, 1, Buffer.alloc(63_000));
  const chunks = Array.from({ length: bytes.length / 9 }, (_none, index) => bytes.subarray(index * 9, index * 9 + 9));
  const whole = createFramePieces()(bytes);

  const cost = (pieces: readonly { readonly cost: number }[]) => pieces.reduce((sum, piece) => sum + piece.cost, 0);

  t.true(cost(whole) < 0.02);
  t.true(cost(chunks.flatMap((chunk) => piecesOf(chunk))) >= chunks.length / 4);
});

test('a node has two pieces in one go, over all of its tunnels, and then waits for each', (t) => {
  const share = new FrameShare();
  const waiting = Array.from({ length: 10 }, () => ({ bytes: Buffer.alloc(0), cost: PIECE_FRAMES_MAX }));
  const pieceMs = (PIECE_FRAMES_MAX * 1_000) / FRAMES_HANDED_ON_PER_SECOND;

  t.deepEqual(
    [
      share.pass(waiting, 0),
      share.pass(waiting, pieceMs / 2),
      share.pass(waiting, pieceMs),
      share.pass(waiting, 1_000),
      share.pass(waiting.slice(0, 1), 2_000),
    ],
    [
      { count: 2, waitMs: pieceMs },
      { count: 0, waitMs: pieceMs / 2 },
      { count: 1, waitMs: pieceMs },
      { count: 2, waitMs: pieceMs },
      { count: 1, waitMs: 0 },
    ],
  );
});

test('nothing waits of what comes evenly, as much as a tunnel may send', (t) => {
  const share = new FrameShare();
  const everyMs = 5;
  const pieces = [{ bytes: Buffer.alloc(0), cost: (FRAMES_PER_SECOND_MAX * everyMs) / 1_000 }];
  const waits = Array.from({ length: 2_000 }, (_none, index) => share.pass(pieces, index * everyMs).waitMs);

  t.is(Math.max(...waits), 0);
});
