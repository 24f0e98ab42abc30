import test from 'ava';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { bearerKey, choice, durationMs, flag, integer, list, port, text, url, urls } from '../../../settings/fields.ts';

/** What each input reads to; `undefined` where it is refused. */
function reads(field: z.ZodType, inputs: readonly string[]): unknown[] {
  return inputs.map((input) => field.safeParse(input).data);
}

/** Those of the inputs that are not refused. */
function taken(field: z.ZodType, inputs: readonly string[]): readonly string[] {
  return inputs.filter((input) => field.safeParse(input).success);
}

test('a flag takes true, false, 1 and 0 in any case, and nothing else', (t) => {
  t.deepEqual(reads(flag(), ['true', 'FALSE', '1', '0', ' True ']), [true, false, true, false, true]);
  t.deepEqual(taken(flag(), ['yes', 'on', '2', 'null']), []);
});

test('an integer keeps to its bounds and takes only decimal digits', (t) => {
  const field = integer({ min: -5, max: 10 });
  t.deepEqual(reads(field, ['-5', '10', ' 7 ']), [-5, 10, 7]);
  t.deepEqual(taken(field, ['11', '-6', '1.5', '1e1', '0x5', '', '７', '9'.repeat(30)]), []);
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
  const field = durationMs({ min: 100, max: 86_400_000 });
  const good = { '250': 250, '250ms': 250, '30s': 30_000, '10m': 600_000, '2h': 7_200_000, '1d': 86_400_000 };
  t.deepEqual(reads(field, Object.keys(good)), Object.values(good));
  t.deepEqual(taken(field, ['99', '2d', '1w', '1.5s', '-1s', 's']), []);
});

test('a URL has one of the protocols and a host', (t) => {
  const good = ['https://a.example/x', 'http://[::1]:80'];
  t.deepEqual(reads(url(), good), good);
  t.deepEqual(taken(url(), ['ftp://a', 'a.example', 'http://', 'javascript:alert(1)']), []);
});

test('a URL that others are told has no credentials, no query and no fragment', (t) => {
  t.deepEqual(taken(url(), ['http://user:secret@a', 'http://user@a', 'http://a/?key=secret', 'http://a/#there']), []);
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
  const key = 'x'.repeat(16);
  t.deepEqual(taken(bearerKey(), [key, 'x'.repeat(15), `${key} y`, `${key}\n`, 'ü'.repeat(20)]), [key]);
});
