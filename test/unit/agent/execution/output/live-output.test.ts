import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import * as fc from 'fast-check';
import { CapturedOutput } from '../../../../../agent/execution/output/captured-output.ts';
import { LiveOutput } from '../../../../../agent/execution/output/live-output.ts';
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
