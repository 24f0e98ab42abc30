/** Versions in their order. */
import test from 'ava';
import { versionOrder } from '../../../actors/version-order.ts';

test('versions are ordered by their numbers, a pre-release before its release, and what is no number last', (t) => {
  const ordered = [
    '0.0.9',
    '0.1.0',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.0.1',
    '1.2.0',
    '1.10.0',
    '2.0.0-rc.1',
    '2.0.0',
    '10.0.0',
    '99999999999999999999.0.0',
    '1_0',
    'main',
  ];

  t.deepEqual(
    ordered.toReversed().sort((one, other) => (versionOrder(one) < versionOrder(other) ? -1 : 1)),
    ordered,
  );
});

test('missing numbers are zero, and a leading v, leading zeros and build metadata count for nothing', (t) => {
  for (const same of ['1.2', '1.2.0', 'v1.2.0', '01.02', '1.2.0+build.7', '1.2.0.0'])
    t.is(versionOrder(same), versionOrder('1.2.0'), same);
  t.not(versionOrder('1.2.0'), versionOrder('1.20'));
  t.not(versionOrder(''), versionOrder('0'));
});
