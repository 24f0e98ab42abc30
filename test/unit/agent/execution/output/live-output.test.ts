import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { CapturedOutput } from '../../../../../agent/execution/output/captured-output.ts';
import { LiveOutput, PIECES_PASSED_MAX } from '../../../../../agent/execution/output/live-output.ts';
import { TailSender } from '../../../../../agent/session/tail-sender.ts';
import type { AgentFrameBody } from '../../../../../transport/protocol/frames.ts';
import { OUTPUT_PART_BYTES_MAX } from '../../../../../transport/protocol/limits.ts';
import { executionId, NotingRunner } from '../../../../support/agent/session-fixture.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

test('whatever the pieces it comes in, the text and its offsets are those of the whole', (t) => {
  const directory = temporaryDirectory(t);
  const pieces = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 30 }),
      fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => new Uint8Array(Buffer.from(text))),
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(pieces, fc.nat({ max: 40 }), (written, from) => {
      const file = join(directory, 'first');
      writeFileSync(file, '');
      const whole = Buffer.from(
        new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(written)).replaceAll('\0', '\uFFFD'),
      );
      const start = offsetOfCodePoint(whole, from);
      let text = '';
      let next = start;
      let isClosed = false;
      const cursor: LiveOutput = new LiveOutput(
        start,
        () => {
          for (let piece = cursor.read(64); piece !== null; piece = cursor.read(64)) {
            t.is(piece.offset, next);
            text += piece.text;
            next += Buffer.byteLength(piece.text);
            t.true(Buffer.byteLength(piece.text) <= 64);
          }
        },
        () => {
          isClosed = true;
        },
      );
      cursor.attach(new CapturedOutput(directory));
      for (const piece of written) {
        appendFileSync(file, piece);
        cursor.look();
      }
      cursor.end();
      cursor.close();

      t.is(text, whole.toString('utf8', start));
      t.true(isClosed);
    }),
    { numRuns: 200 },
  );
});

/** The first byte from `from` on at which a code point starts. */
function offsetOfCodePoint(bytes: Buffer, from: number): number {
  let at = Math.min(from, bytes.length);
  while (at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return at;
}

test('what fell out of the ring shows as a jump, and all that is kept is read', (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'first'), 'a'.repeat(100));
  writeFileSync(join(directory, 'segment'), '5 1000\n');
  writeFileSync(join(directory, 'ring.0'), 'b'.repeat(200));
  writeFileSync(join(directory, 'ring.1'), 'c'.repeat(50));
  const cursor = new LiveOutput(
    0,
    () => {},
    () => {},
  );
  cursor.attach(new CapturedOutput(directory));

  const pieces = [cursor.read(10_000), cursor.read(10_000), cursor.read(10_000), cursor.read(10_000)];

  t.deepEqual(
    pieces.map((piece) => piece && [piece.offset, piece.text.length, piece.text[0]]),
    [[0, 100, 'a'], [800, 200, 'b'], [1_000, 50, 'c'], null],
  );
});

test('a read on the way to a place that is never reached comes back, however fast the output grows, and goes on later', async (t) => {
  let reads = 0;
  const endless = {
    length: Infinity,
    read(position: number, bytesMax: number) {
      reads += 1;
      if (reads > 1_000) throw new Error('it reads on');
      return { position, bytes: Buffer.alloc(bytesMax, 'y') };
    },
  };
  const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
  const cursor = new LiveOutput(1e12, wake, () => {});
  cursor.attach(endless as unknown as CapturedOutput);

  t.is(cursor.read(OUTPUT_PART_BYTES_MAX), null);
  t.is(reads, PIECES_PASSED_MAX);
  await woken;
  t.is(cursor.read(OUTPUT_PART_BYTES_MAX), null);
  t.is(reads, 2 * PIECES_PASSED_MAX);
  cursor.close();
});

/** What a session sends of an output of so many pieces, followed from there on: of one that goes on, or is over. */
async function sentFrom(
  t: ExecutionContext,
  { from, pieces, isOver }: { from: number; pieces: number; isOver: boolean },
) {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'first'), Buffer.alloc(pieces * OUTPUT_PART_BYTES_MAX, 'abcdefgh'));
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const frames: (AgentFrameBody & { type: 'tail-output' })[] = [];
  const runner = Object.assign(new NotingRunner(), {
    tail(_execution: ReturnType<typeof executionId>, offset: number, wake: () => void) {
      const cursor = new LiveOutput(offset, wake, () => {});
      cursor.attach(new CapturedOutput(directory));
      if (isOver) cursor.end();
      else setImmediate(() => setImmediate(() => cursor.end()));
      return cursor;
    },
  });
  const sender = new TailSender(
    runner,
    (frame) => {
      if (frame.type !== 'tail-output') return;
      frames.push(frame);
      if (frame.end) resolve();
    },
    () => true,
  );
  sender.open(executionId(1), from);
  await ended;
  return {
    text: frames.map(({ text }) => text).join(''),
    first: frames[0]?.offset,
    ends: frames.filter(({ end }) => end).map(({ offset }) => offset),
  };
}

for (const isOver of [false, true])
  test(`an offset far into an output that ${isOver ? 'is over' : 'goes on'} is reached, and an offset behind its end ends it`, async (t) => {
    const pieces = 3 * PIECES_PASSED_MAX + 1;
    const bytes = pieces * OUTPUT_PART_BYTES_MAX;

    t.deepEqual(await sentFrom(t, { from: bytes - 11, pieces, isOver }), {
      text: 'fghabcdefgh',
      first: bytes - 11,
      ends: [bytes],
    });
    t.deepEqual(await sentFrom(t, { from: bytes + 5, pieces, isOver }), {
      text: '',
      first: bytes + 5,
      ends: [bytes + 5],
    });
  });
