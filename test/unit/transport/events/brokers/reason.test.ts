import test from 'ava';
import {
  knownReason,
  REASON_CHARACTERS_MAX,
  reasonOf,
  UNREADABLE,
} from '../../../../../transport/events/brokers/reason.ts';

test('what a broker says is told up to its first line and a length, however much it is', (t) => {
  t.is(reasonOf(new Error('NOAUTH Authentication required.\nat a place')), 'NOAUTH Authentication required');
  t.is(reasonOf(new Error(`${'.'.repeat(50_000)}x`)).length, 0, 'and not looked through for seconds');
  t.is(reasonOf(new Error('x'.repeat(1_000_000))).length, REASON_CHARACTERS_MAX);
});

test('an error whose message or code is no text, or no word of ours, is told in words', (t) => {
  const odd = (parts: object) => Object.assign(new Error('it refuses'), parts);

  t.is(reasonOf(odd({ message: { toString: 1 } })), UNREADABLE);
  t.is(reasonOf(odd({ message: undefined })), UNREADABLE);
  t.is(reasonOf(odd({ code: 'constructor' })), 'it refuses');
  t.is(reasonOf(odd({ code: ['ECONNRESET'] })), 'it refuses');
  t.is(reasonOf(odd({ code: 'ECONNRESET' })), 'the connection was cut');
  t.is(knownReason({ a: 'b' }, '__proto__'), undefined);
});
