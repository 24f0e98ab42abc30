import test from 'ava';
import { leaksIn } from './canary.ts';

test('the canary is found in every form, and nothing else is', (t) => {
  const secret = 'canary/with+signs~and "quotes"';
  const formOf = (text: string) => [
    ...new Set(leaksIn('here', text, [{ name: 'it', value: secret }]).map(({ form }) => form)),
  ];

  t.deepEqual(formOf(`x${secret}x`), ['raw']);
  t.deepEqual(formOf(encodeURIComponent(secret)), ['URL']);
  t.deepEqual(formOf(JSON.stringify({ a: secret })), ['JSON']);
  t.deepEqual(formOf(Buffer.from(secret).toString('hex').toUpperCase()), ['hex']);
  for (const before of ['', 'a', 'ab', 'abc']) {
    t.true(formOf(Buffer.from(`${before}${secret}behind`).toString('base64')).includes('base64'), before);
    t.true(formOf(Buffer.from(`${before}${secret}`).toString('base64url')).includes('base64url'), before);
  }
  t.deepEqual(formOf('canary and others'), []);
});
