/** How much each key may send through a relay. */
import test from 'ava';
import { createAllowances } from '../../../../../transport/vpn/relay/allowances.ts';

test('a key may spend its burst at once, then its share a second, by however many connections', (t) => {
  const allowances = createAllowances({ tokensMax: 5_000, tokensPerSecond: 1_000 });
  const [one, other] = [allowances.of('key'), allowances.of('key')];

  t.is(one.spend(3_000, 0), 0);
  t.is(other.spend(2_000, 0), 0);
  t.is(one.spend(500, 0), 500);
  t.is(other.spend(500, 0), 1_000);
  t.is(one.spend(1_000, 3_000), 0);
  t.is(allowances.of('another').spend(5_000, 3_000), 0);
});

test('a key that comes back has what it had; an allowance that is whole again is forgotten', (t) => {
  const allowances = createAllowances({ tokensMax: 5_000, tokensPerSecond: 1_000 });

  t.is(allowances.of('key').spend(6_000, 0), 1_000);
  allowances.sweep(2_000);
  t.is(allowances.of('key').spend(2_000, 2_000), 1_000);
  allowances.sweep(8_000);
  t.is(allowances.of('key').spend(5_000, 8_000), 0);
});
