import test from 'ava';
import { REASON_CHARACTERS_MAX, reasonOf } from '../../../../../transport/events/brokers/reason.ts';

test('what a broker says is told up to its first line and a length, however much it is', (t) => {
  t.is(reasonOf(new Error('NOAUTH Authentication required.\nat a place')), 'NOAUTH Authentication required');
  t.is(reasonOf(new Error(`${'.'.repeat(50_000)}x`)).length, 0, 'and not looked through for seconds');
  t.is(reasonOf(new Error('x'.repeat(1_000_000))).length, REASON_CHARACTERS_MAX);
});
