/** What is an exposition and what is none: the admin answers for it with its name. */
import test from 'ava';
import { assert, dictionary, double, integer, oneof, property, string, stringMatching } from 'fast-check';
import { Exposition } from '../../../../../transport/net/exposition/exposition.ts';
import { LABEL_VALUE_BYTES_MAX, LABELS_MAX, LINE_BYTES_MAX } from '../../../../../transport/net/exposition/limits.ts';
import { samplesOf } from '../../../../../transport/net/exposition/samples.ts';
import { createSyntaxCheck } from '../../../../../transport/net/exposition/syntax.ts';

/** What the check says of these bytes when they come in pieces of this size. */
function problemOf(bytes: string | Uint8Array, size = Infinity): string | null {
  const whole = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  const check = createSyntaxCheck();
  for (let from = 0; from < whole.length; from += size) {
    const problem = check.take(whole.subarray(from, from + size));
    if (problem !== null) return problem;
  }
  return check.end();
}

const RIGHT = [
  '',
  '\n',
  ' \t\n',
  'up 1\n',
  'up 1 1700000000000\n',
  'up\t1 -5 \n',
  'up{} 1\n',
  'up{a="b"} 1\n',
  'up {a="b", c="d",} 1\n',
  'up{ a = "b" } 1\n',
  'a:b_c 1\n',
  ':a 1\n',
  '_ 0\n',
  'up{a="}"} 1\n',
  'up{a="\\"x\\\\y\\n"} 1\n',
  'up{a="ü€😀"} 1\n',
  '# a comment of any kind {\n',
  '#\n',
  '#comment\n',
  '# HELP up any text \\ "\n',
  '# HELP up\n',
  '# TYPE up gauge\n',
  '#\tTYPE\tup untyped \n',
  ...[
    '0',
    '-0',
    '+1',
    '1.',
    '.5',
    '1.5e3',
    '1E-7',
    '1e+308',
    'NaN',
    'nan',
    '+Inf',
    '-Inf',
    'Inf',
    'infinity',
    '00012',
  ].map((value) => `up ${value}\n`),
];

const WRONG: readonly (readonly [string | Uint8Array, RegExp])[] = [
  ['up 1', /^1 has no end/u],
  ['up 1\nup 2', /^2 has no end/u],
  ['up\n', /^1 has no value/u],
  ['up \n', /no number/u],
  ['up one\n', /no number/u],
  ['up 0x10\n', /no number/u],
  ['up 1_000\n', /no number/u],
  ['up 1.2.3\n', /no number/u],
  ['up 1e\n', /no number/u],
  ['up .\n', /no number/u],
  ['up --1\n', /no number/u],
  ['up 1\r\n', /no number/u],
  ['up 1 now\n', /a time that is none/u],
  ['up 1 1.5\n', /a time that is none/u],
  ['up 1 2 3\n', /goes on/u],
  ['1up 1\n', /name of a metric/u],
  ['<html>\n', /name of a metric/u],
  ['{"a":1}\n', /name of a metric/u],
  ['{"up"} 1\n', /name of a metric/u],
  ['ün 1\n', /no value|name of a metric/u],
  [`${'a'.repeat(257)} 1\n`, /name of a metric/u],
  ['up{ 1\n', /labels that are none/u],
  ['up{a} 1\n', /labels that are none/u],
  ['up{a=b} 1\n', /labels that are none/u],
  ['up{a="b" 1\n', /labels that are none/u],
  ['up{a="b"c="d"} 1\n', /labels that are none/u],
  ['up{,} 1\n', /labels that are none/u],
  ['up{a:b="c"} 1\n', /labels that are none/u],
  ['up{1="c"} 1\n', /labels that are none/u],
  ['up{a="b\n', /labels that are none/u],
  ['up{a="\\t"} 1\n', /an escape/u],
  ['up{a="b\\"} 1\n', /labels that are none/u],
  ['# TYPE up counters\n', /a TYPE/u],
  ['# TYPE up\n', /a TYPE/u],
  ['# TYPE 1up gauge\n', /a TYPE/u],
  ['# HELP\n', /a HELP/u],
  ['# HELP 1 x\n', /a HELP/u],
  [Buffer.from([0x75, 0x20, 0x31, 0x0a, 0x23, 0xff, 0x0a]), /is not UTF-8/u],
  [Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0x0a]), /is not UTF-8/u],
  [`# ${'x'.repeat(LINE_BYTES_MAX)}\n`, /longer than/u],
  [`# ${'x'.repeat(LINE_BYTES_MAX)}`, /longer than/u],
  [`up{a="${'x'.repeat(LABEL_VALUE_BYTES_MAX + 1)}"} 1\n`, /value of a label that is longer/u],
  [`up{${Array.from({ length: LABELS_MAX + 1 }, (_, index) => `l${index}="",`).join('')}} 1\n`, /more than 64 labels/u],
];

test('what Prometheus reads is an exposition, however its bytes are cut', (t) => {
  for (const text of RIGHT)
    for (const size of [1, 2, 3, 7, Infinity]) t.is(problemOf(text, size), null, JSON.stringify(text));
  t.is(
    problemOf(
      `up{${Array.from({ length: LABELS_MAX }, (_, index) => `l${index}="",`).join('')}} 1\nup{a="${'x'.repeat(LABEL_VALUE_BYTES_MAX)}"} 1\n`,
    ),
    null,
  );
});

test('what is no exposition is refused with its line and what is wrong with it, however its bytes are cut', (t) => {
  for (const [text, problem] of WRONG)
    for (const size of [1, 2, 3, 7, Infinity])
      t.regex(problemOf(text, size) ?? 'nothing', problem, JSON.stringify(String(text)).slice(0, 200));
  t.is(problemOf('up 1\n# a comment\n\nup{\n'), '4 has labels that are none');
});

test('the check holds no more than a line, however long none ends', (t) => {
  const check = createSyntaxCheck();
  const pieces = Array.from({ length: 20 }, () => check.take(Buffer.alloc(1_000, 'x')));

  t.is(
    pieces.findIndex((problem) => problem !== null),
    16,
  );
});

const name = stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,20}$/u);
const labels = dictionary(name, string({ unit: 'binary', maxLength: 30 }), { maxKeys: 5, noNullPrototype: true });

test('what this project writes is an exposition, and reads back as what was written', (t) => {
  assert(
    property(name, labels, oneof(double(), integer()), integer({ min: 1, max: 40 }), (metric, given, value, size) => {
      const text = new Exposition()
        .family(metric, 'gauge', 'What it\nis\\not')
        .sample(metric, value, given)
        .sample(`${metric}_more`, 1)
        .toString();

      const [sample, ...others] = samplesOf(text, new Set([metric])).get(metric) ?? [];

      return (
        problemOf(text, size) === null &&
        others.length === 0 &&
        sample !== undefined &&
        Object.is(sample.value, Object.is(value, -0) ? 0 : value) &&
        JSON.stringify([...sample.labels]) === JSON.stringify(Object.entries(given))
      );
    }),
  );
  t.pass();
});

test('only the metrics that are wanted are read, with all that their lines may hold', (t) => {
  const text = '# TYPE a gauge\na 1\nab 2\n  a{x="}\\"",y="\\\\n\\n"}   3.5e1 1700000000000\nb{z="a 9"} -Inf\na NaN\n';

  const read = samplesOf(text, new Set(['a', 'b', 'c']));

  t.deepEqual(
    [...read].map(([metric, samples]) => [
      metric,
      samples.map(({ labels: given, value }) => [Object.fromEntries(given), value]),
    ]),
    [
      [
        'a',
        [
          [{}, 1],
          [{ x: '}"', y: '\\n\n' }, 35],
          [{}, Number.NaN],
        ],
      ],
      ['b', [[{ z: 'a 9' }, -Infinity]]],
    ],
  );
});
