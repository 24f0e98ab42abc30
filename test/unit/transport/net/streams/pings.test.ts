import test from 'ava';
import { Pings } from '../../../../../transport/net/streams/pings.ts';

const SILENCE_MS_MAX = 20_000;

test('who answers no ping is over after the silence, counted from the last answer', (t) => {
  const pings = new Pings(0);

  pings.asked(10_000);
  t.false(pings.isAnswered);
  t.false(pings.isOver(20_000, SILENCE_MS_MAX));
  pings.asked(20_000);

  t.true(pings.isOver(20_001, SILENCE_MS_MAX));
});

test('who answered the last ping is not over, however long it was not asked since', (t) => {
  const pings = new Pings(0);
  pings.asked(10_000);
  pings.answered(10_050);

  t.true(pings.isAnswered);
  t.false(pings.isOver(100_000, SILENCE_MS_MAX));
  pings.asked(100_000);

  t.is(pings.quietSinceMs, 100_000);
  t.true(pings.isOver(110_000, SILENCE_MS_MAX));
});

test('it is quiet since the later of what was asked and what was heard', (t) => {
  const pings = new Pings(0);
  pings.asked(10_000);
  pings.answered(19_000); // whatever came

  t.is(pings.quietSinceMs, 19_000);
});
