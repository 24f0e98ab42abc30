import test from 'ava';
import { ANSWER_DEPTH_MAX, ANSWER_VALUES_MAX, isBounded, parsed } from '../../../../../transport/vpn/netmaker/json.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

test('an answer has so many values, and not one more', (t) => {
  const list = (values: number): Uint8Array => bytes(`[${'0,'.repeat(values - 1)}0]`);

  t.true(isBounded(list(ANSWER_VALUES_MAX)));
  t.false(isBounded(list(ANSWER_VALUES_MAX + 1)));
});

test('values stand so deep in each other, and no deeper, whatever texts hold', (t) => {
  const nested = (depth: number, inside = ''): Uint8Array =>
    bytes(`${'[{"a":'.repeat(depth / 2)}${inside === '' ? '0' : inside}${'}]'.repeat(depth / 2)}`);

  t.true(isBounded(nested(ANSWER_DEPTH_MAX)));
  t.false(isBounded(nested(ANSWER_DEPTH_MAX + 2)));
  t.true(isBounded(nested(ANSWER_DEPTH_MAX, String.raw`"[[[ \" [[[ \\"`)));
  t.false(isBounded(nested(ANSWER_DEPTH_MAX, String.raw`["]]] \" ]]]"]`)));
  t.true(isBounded(bytes(`"${'['.repeat(ANSWER_DEPTH_MAX + 1)}`)), 'a text without an end');
});

test('what is no JSON is a text, and nothing is null', (t) => {
  t.deepEqual(
    ['', 'pong', '"pong"', '\uFEFF[1]', '<html>'].map((text) => parsed(bytes(text))),
    [null, 'pong', 'pong', [1], '<html>'],
  );
});
