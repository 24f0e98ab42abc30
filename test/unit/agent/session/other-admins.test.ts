/** Whom a session asks beside a silent admin. */
import test from 'ava';
import { OtherAdmins } from '../../../../agent/session/other-admins.ts';

const A = 'http://a.test';
const B = 'http://b.test';
const C = 'http://c.test';

const others = (urls: readonly string[], own = A) => new OtherAdmins(own, () => urls);

test('the others are asked in their order, each once before the first comes again', (t) => {
  const asked = others([B, A, C]);

  t.deepEqual([asked.next(), asked.refused()], [B, true]);
  t.deepEqual([asked.next(), asked.refused()], [C, false]);
  t.deepEqual([asked.next(), asked.unreached()], [B, true]);
});

test('nobody is asked where the silent admin is the only one, whatever it is called', (t) => {
  t.is(others([A]).next(), null);
  t.is(others(['http://a.test/', 'http://A.test:80']).next(), null);
  t.is(others([]).next(), null);
});

test('the admin to which one of them sends the node is the next', (t) => {
  const asked = others([A, B]);
  asked.next();

  t.true(asked.redirected(C));

  t.is(asked.next(), C);
});

test('an admin that redirects to the silent admin, an unreached one, none, or from TLS to plain is asked again later', (t) => {
  const asked = others([A, 'https://b.test']);
  asked.next();

  t.false(asked.redirected('http://a.test/'));
  t.false(asked.redirected(''));
  t.false(asked.redirected('ftp://c.test'));
  t.false(asked.redirected(C));

  t.true(asked.redirected('https://c.test'));
  asked.next();
  asked.unreached();
  t.is(asked.next(), 'https://b.test');
  t.false(asked.redirected('https://c.test/'));
});

test('admins that send the node to each other are not followed for ever', (t) => {
  const asked = others([A, B]);
  asked.next();
  const followed = [C, B, C, B].map((url) => {
    const isFollowed = asked.redirected(url);
    asked.next();
    return isFollowed;
  });

  t.deepEqual(followed, [true, true, true, false]);
});
