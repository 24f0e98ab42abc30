/** Ages of handshakes, whatever happens to the clock on the wall. */
import test from 'ava';
import { createHandshakeAges } from '../../../../../transport/vpn/member/handshake-ages.ts';

const HOURS_MS = 3_600_000;
const WALL_MS = 1_800_000_000_000;

test('the first reading is believed, and from then on the age grows with time', (t) => {
  const ages = createHandshakeAges();

  t.is(ages.read('a', WALL_MS - 7_000, 1_000, WALL_MS), 7_000);
  t.is(ages.of('a', 4_000), 10_000);
  t.is(ages.read('never', null, 4_000, WALL_MS), null);
  t.is(ages.of('unread', 4_000), null);
});

for (const step of [5 * HOURS_MS, -5 * HOURS_MS]) {
  test(`a clock that is set by ${step / HOURS_MS} hours makes no handshake older or younger`, (t) => {
    const ages = createHandshakeAges();
    ages.read('a', WALL_MS, 0, WALL_MS + 1_000);

    t.is(ages.read('a', WALL_MS, 5_000, WALL_MS + 6_000 + step), 6_000);
  });

  test(`a handshake by a clock that was set by ${step / HOURS_MS} hours meanwhile is a new one`, (t) => {
    const ages = createHandshakeAges();
    ages.read('a', WALL_MS, 0, WALL_MS);

    t.true((ages.read('a', WALL_MS + 2_000 + step, 5_000, WALL_MS + 5_000) ?? Infinity) <= 5_000);
    t.true((ages.read('a', WALL_MS + 9_000, 10_000, WALL_MS + 10_000 + step) ?? Infinity) <= 5_000);
  });
}

test('a peer that was added again has no handshake until it has one', (t) => {
  const ages = createHandshakeAges();
  ages.read('a', WALL_MS, 0, WALL_MS);

  t.is(ages.read('a', null, 1_000, WALL_MS + 1_000), null);
  t.is(ages.read('a', WALL_MS + 1_500, 2_000, WALL_MS + 2_000), 500);
});

test('who is no peer any more is forgotten', (t) => {
  const ages = createHandshakeAges();
  for (const key of ['a', 'b']) ages.read(key, WALL_MS, 0, WALL_MS);

  ages.forget((key) => key === 'b');

  t.deepEqual(
    ['a', 'b'].map((key) => ages.of(key, 1)),
    [null, 1],
  );
});
