import test from 'ava';
import { nkeys } from '@nats-io/transport-node';
import { isUserSeed } from '../../../settings/nkey.ts';

/** Of RFC 4648, 6. */
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

test('a seed that NATS makes for a user is one, and not with another character or for another kind', (t) => {
  const seed = new TextDecoder().decode(nkeys.createUser().getSeed());
  // Another first bit: the last ones of the last character say nothing.
  const other = (at: number): string =>
    `${seed.slice(0, at)}${BASE32[(BASE32.indexOf(seed[at] ?? '') + 16) % 32]}${seed.slice(at + 1)}`;

  t.true(isUserSeed(seed));
  t.deepEqual(
    Array.from(seed, (_, at) => isUserSeed(other(at))),
    Array.from(seed, () => false),
  );
  t.deepEqual(
    [new TextDecoder().decode(nkeys.createAccount().getSeed()), seed.toLowerCase(), `${seed} `, seed.slice(1), ''].map(
      isUserSeed,
    ),
    [false, false, false, false, false],
  );
});
