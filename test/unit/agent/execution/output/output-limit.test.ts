/** The text of an output that is stored, whole and cut (C10). */
import test from 'ava';
import * as fc from 'fast-check';
import { CUT_MARKER, storedOutput } from '../../../../../agent/execution/output/output-limit.ts';

/** Bytes as processes write them: text, pieces of code points, NUL and noise. */
const bytes = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => Buffer.from(text)),
      fc
        .constantFrom([0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x9a], [0x80], [0xff], [0], [0xef, 0xbb, 0xbf])
        .map((list) => Buffer.from(list)),
      fc.uint8Array({ maxLength: 20 }).map((list) => Buffer.from(list)),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => Buffer.concat(pieces));

test('a whole output under the limit is its text with what is invalid replaced, and valid UTF-8 without NUL', (t) => {
  fc.assert(
    fc.property(bytes, (raw) => {
      const { output, isCut } = storedOutput({ head: raw, tail: null }, 1_000_000);

      t.false(isCut);
      t.is(
        output.toString('utf8'),
        new TextDecoder('utf-8', { ignoreBOM: true }).decode(raw).replaceAll('\0', '\uFFFD'),
      );
    }),
    { numRuns: 500 },
  );
});

test('a cut output is at most the limit, begins and ends as the whole does, and splits no code point', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 200, maxLength: 400 }),
      fc.integer({ min: 60, max: 150 }),
      (text, bytesMax) => {
        const raw = Buffer.from(text.replaceAll('\0', ''));
        if (raw.length <= bytesMax) return;
        const half = Math.floor((bytesMax - CUT_MARKER.length) / 2);

        const captured = { head: raw.subarray(0, half + 4), tail: raw.subarray(raw.length - half - 4) };
        for (const output of [storedOutput(captured, bytesMax), storedOutput({ head: raw, tail: null }, bytesMax)]) {
          const stored = output.output.toString('utf8');
          const [first = '', last = ''] = stored.split(CUT_MARKER);
          t.true(output.isCut);
          t.true(output.output.length <= bytesMax);
          t.true(raw.toString('utf8').startsWith(first) && raw.toString('utf8').endsWith(last));
          t.true(
            Buffer.byteLength(first) > half - 4 && Buffer.byteLength(last) > half - 4,
            'nothing more than a code point is missing',
          );
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('noise that grows when it is replaced stays under the limit', (t) => {
  const { output, isCut } = storedOutput({ head: Buffer.alloc(1_000, 0xff), tail: null }, 1_500);

  t.true(isCut);
  t.true(output.length <= 1_500);
  t.true(output.toString('utf8').startsWith('\uFFFD\uFFFD'));
});
