import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { decodeAdminFrame, encodeFrame } from '../../../../transport/protocol/codec.ts';
import { newToken, tagIn, tagOf } from '../../../../transport/tunnels/token.ts';

test('a token names its admin, and fits what every agent takes', (t) => {
  const tag = tagOf('0190f5c2-7a11-4c3e-8f00-00000abcdef1');
  const token = newToken(tag);

  t.is(tag, '00000abcdef1');
  t.is(tagIn(token), tag);
  t.regex(token, /^[\w-]{22,128}$/u);
  t.not(newToken(tag), token);
  t.true(decodeAdminFrame(encodeFrame({ type: 'open-tunnel', token }, 1)).ok);
});

test('a token of before names nobody, however it begins', (t) => {
  const plain = randomBytes(32).toString('base64url');

  t.is(tagIn(plain), null);
  t.is(tagIn(`${tagOf(randomUUID())}-short`), null);
  t.is(tagIn(`${tagOf(randomUUID()).toUpperCase()}g${plain}`), null);
});
