import test from 'ava';
import { headerProblem, RESERVED_HEADERS } from '../../../../actors/webhook/headers.ts';

test('headers that receivers ask for are allowed', (t) => {
  for (const [name, value] of [
    ['X-Api-Key', 'abc'],
    ['Authorization', 'Bearer a.b-c_d~e'],
    ['cookie', 'a=b; c="d"'],
    ['X-Empty', ''],
    ['x', 'one\ttwo'],
    ["!#$%&'*+.^_`|~", 'x'],
  ] as const) {
    t.is(headerProblem(name, value), null, name);
  }
});

test('headers of ours, and those that frame the request, are not', (t) => {
  for (const name of [
    ...RESERVED_HEADERS,
    'X-Edge-Signature',
    'x-edge-anything',
    'Webhook-Id',
    'WEBHOOK-SIGNATURE',
    'Content-Length',
    'HOST',
    'Transfer-Encoding',
  ]) {
    t.is(headerProblem(name, 'x'), `The header ${name} is set by this service, or by HTTP itself.`);
  }
});

test('what is no header is refused, and a value is never in the sentence', (t) => {
  for (const name of ['', 'a b', 'a:b', 'a\r\nb', 'ä', 'a\0', '(a)', 'x'.repeat(129)])
    t.regex(headerProblem(name, 'x') ?? '', /^A header's name must be/u, JSON.stringify(name));
  for (const value of [
    's3cret\r\nx: y',
    's3cret\n',
    's3cret\0',
    ' s3cret',
    's3cret ',
    '\ts3cret',
    's3crét',
    '東 s3cret',
    's3cret\u007F',
    ' ',
  ]) {
    t.is(
      headerProblem('X-Key', value),
      'The value of X-Key must be printable ASCII, without line breaks, or spaces at its ends.',
      JSON.stringify(value),
    );
  }
});
