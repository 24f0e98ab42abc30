import test from 'ava';
import * as fc from 'fast-check';
import {
  newSpanId,
  newTraceId,
  parseTraceparent,
  spanIdOf,
  Traceparent,
  traceparentOf,
} from '../../../../transport/protocol/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

const hex = (length: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdef'.split('')), { minLength: length, maxLength: length })
    .map((digits) => digits.join(''))
    .filter((text) => !/^0+$/u.test(text));

test('what is written is read as it was', (t) => {
  fc.assert(
    fc.property(hex(32), hex(16), fc.boolean(), (traceId, spanId, sampled) => {
      const context = { traceId, spanId, sampled };
      t.deepEqual(parseTraceparent(traceparentOf(context)), context);
      t.true(Traceparent.safeParse(traceparentOf(context)).success);
    }),
    { numRuns: 200 },
  );
});

test('any text is read or refused, never thrown, and what is read is written in 55 characters', (t) => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 600 }),
        fc.jsonValue().map((value) => JSON.stringify(value)),
      ),
      (text) => {
        const context = parseTraceparent(text);
        t.true(context === null || traceparentOf(context).length === 55);
      },
    ),
    { numRuns: 1_000 },
  );
});

/** Source: W3C Trace Context, 3.2.2 and its test suite. */
const REFUSED: Readonly<Record<string, unknown>> = {
  'no header': undefined,
  'an empty one': '',
  'one that came twice, as Node joins them': `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  'upper case': `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  'a trace id of zeros': `00-${'0'.repeat(32)}-${SPAN}-01`,
  'a span id of zeros': `00-${TRACE}-${'0'.repeat(16)}-01`,
  'a trace id that is too short': `00-${TRACE.slice(1)}-${SPAN}-01`,
  'a trace id that is too long': `00-${TRACE}0-${SPAN}-01`,
  'the version ff': `ff-${TRACE}-${SPAN}-01`,
  'more behind version 00': `00-${TRACE}-${SPAN}-01-more`,
  'more behind a later version, without a dash': `cc-${TRACE}-${SPAN}-01.more`,
  'flags of one digit': `00-${TRACE}-${SPAN}-1`,
  'flags that are none': `00-${TRACE}-${SPAN}-0g`,
  'a space before': ` 00-${TRACE}-${SPAN}-01`,
  'a line break behind': `00-${TRACE}-${SPAN}-01\n`,
  'one without end': `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1_000)}`,
};

for (const [what, header] of Object.entries(REFUSED))
  test(`${what} is refused`, (t) => t.is(parseTraceparent(header), null));

test('of a later version what this one knows is read', (t) => {
  t.deepEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`), {
    traceId: TRACE,
    spanId: SPAN,
    sampled: true,
  });
  t.deepEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-00`), { traceId: TRACE, spanId: SPAN, sampled: false });
  t.false(Traceparent.safeParse(`cc-${TRACE}-${SPAN}-01`).success, 'on our own wire only version 00 goes');
});

test('of the flags only the first bit is read', (t) => {
  t.deepEqual(
    ['00', '01', '02', '03', 'fe', 'ff'].map((flags) => parseTraceparent(`00-${TRACE}-${SPAN}-${flags}`)?.sampled),
    [false, true, false, true, false, true],
  );
});

test('new ids are of their length and never the same', (t) => {
  const ids = Array.from({ length: 10_000 }, () => `${newTraceId()}-${newSpanId()}`);

  t.is(new Set(ids).size, ids.length);
  t.true(ids.every((id) => /^[0-9a-f]{32}-[0-9a-f]{16}$/u.test(id)));
});

test('the span of an execution is its own, and always the same', (t) => {
  t.is(spanIdOf(TRACE, 'a'), spanIdOf(TRACE, 'a'));
  t.is(new Set(['a', 'b', 'c'].flatMap((id) => [spanIdOf(TRACE, id), spanIdOf('f'.repeat(32), id)])).size, 6);
  t.regex(spanIdOf(TRACE, 'a'), /^[0-9a-f]{16}$/u);
});
