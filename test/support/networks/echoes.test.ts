/** Echoes that come late, again or not at all. */
import test from 'ava';
import { echoWords, lostOf } from './echoes.ts';

const answer = (number: number, words = ''): string =>
  `64 bytes from 100.64.0.6: icmp_seq=${number} ttl=64 time=2.42 ms${words}\n`;

test('echoes are lost when they were not answered, however late the others were and whatever was asked for after them', (t) => {
  const heard = [1, 2, 4, 5, 3, 6, 7];

  t.is(lostOf(heard.map((number) => answer(number)).join(''), 5), 0);
  t.is(
    lostOf(
      heard
        .filter((number) => number !== 3)
        .map((number) => answer(number))
        .join(''),
      5,
    ),
    1,
  );
  t.is(
    lostOf(`${answer(1)}${answer(1, ' (DUP!)')}From 10.0.0.1 icmp_seq=2 Destination Host Unreachable\n${answer(3)}`, 3),
    1,
  );
  t.is(lostOf('', 5), 5);
});

test('ping waits until as many as asked for were answered, and no longer than a time', (t) => {
  t.deepEqual(echoWords('100.64.0.6', 5, 0.05), ['-n', '-c', '10', '-i', '0.05', '-w', '11', '100.64.0.6']);
});
