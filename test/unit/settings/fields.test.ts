import test from 'ava';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { bearerKey, choice, durationMs, flag, integer, list, port, text, url, urls } from '../../../settings/fields.ts';

/** What each input reads to; `undefined` where it is refused. */
function reads(field: z.ZodType, inputs: readonly string[]): unknown[] {
  return inputs.map((input) => field.safeParse(input).data);
}

test('a flag takes true, false, 1 and 0 in any case, and nothing else', (t) => {
  t.deepEqual(reads(flag(), ['true', 'FALSE', '1', '0', ' True ', 'yes', 'on', '2', 'null']), [
    true,
    false,
    true,
    false,
    true,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('an integer keeps to its bounds and takes only decimal digits', (t) => {
  t.deepEqual(
    reads(integer({ min: -5, max: 10 }), [
      '-5',
      '10',
      ' 7 ',
      '11',
      '-6',
      '1.5',
      '1e1',
      '0x5',
      '',
      '７',
      '9'.repeat(30),
    ]),
    [-5, 10, 7, undefined, undefined, undefined, undefined, undefined, undefined, undefined, undefined],
  );
});

test('any integer within bounds reads to itself', (t) => {
  fc.assert(
    fc.property(
      fc.maxSafeInteger().filter((n) => Math.abs(n) < 1e15),
      (n) => integer({ min: -1e15, max: 1e15 }).parse(String(n)) === n,
    ),
  );
  t.pass();
});

test('a port is 0 to 65535', (t) => {
  t.deepEqual(reads(port(), ['0', '65535', '65536', '-1']), [0, 65_535, undefined, undefined]);
});

test('a duration is a number of ms or has a unit, and its bounds hold in ms', (t) => {
  t.deepEqual(
    reads(durationMs({ min: 100, max: 86_400_000 }), [
      '250',
      '250ms',
      '30s',
      '10m',
      '2h',
      '1d',
      '99',
      '2d',
      '1w',
      '1.5s',
      '-1s',
      's',
    ]),
    [
      250,
      250,
      30_000,
      600_000,
      7_200_000,
      86_400_000,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ],
  );
});

test('a URL has one of the protocols and a host', (t) => {
  t.deepEqual(
    reads(url(), ['https://a.example/x', 'http://[::1]:80', 'ftp://a', 'a.example', 'http://', 'javascript:alert(1)']),
    ['https://a.example/x', 'http://[::1]:80', undefined, undefined, undefined, undefined],
  );
});

test('a URL that others are told has no credentials, no query and no fragment', (t) => {
  t.deepEqual(reads(url(), ['http://user:secret@a', 'http://user@a', 'http://a/?key=secret', 'http://a/#there']), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('URLs are an ordered list of different ones, without trailing slashes', (t) => {
  t.deepEqual(
    reads(urls(), [
      'http://b/, https://a',
      'http://a,http://a/',
      ',',
      'http://a,nonsense',
      Array.from({ length: 33 }, (_, i) => `http://h${i}`).join(','),
    ]),
    [['http://b', 'https://a'], undefined, undefined, undefined, undefined],
  );
});

test('a list drops blanks and is never empty', (t) => {
  t.deepEqual(reads(list(), ['a, b,,c ', ' , ']), [['a', 'b', 'c'], undefined]);
});

test('a choice is one of its words in any case', (t) => {
  t.deepEqual(reads(choice(['info', 'debug']), ['INFO', 'trace']), ['info', undefined]);
});

test('text is trimmed and bounded', (t) => {
  t.deepEqual(reads(text({ max: 3 }), [' ab ', 'abcd', '  ']), ['ab', undefined, undefined]);
});

test('a bearer key fits a header: at least 16 printable characters, no spaces', (t) => {
  t.deepEqual(
    reads(bearerKey(), ['x'.repeat(16), 'x'.repeat(15), `${'x'.repeat(16)} y`, `${'x'.repeat(16)}\n`, 'ü'.repeat(20)]),
    ['x'.repeat(16), undefined, undefined, undefined, undefined],
  );
});
