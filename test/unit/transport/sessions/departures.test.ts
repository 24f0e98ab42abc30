/** Agents that are told to go to another admin, at a pace. */
import test from 'ava';
import { Departures } from '../../../../transport/sessions/departures.ts';
import { DEPARTURE_GAP_MS, DEPARTURE_JITTER_MS } from '../../../../transport/sessions/limits.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

/** An agent that is a number. */
function fixture(random: () => number = Math.random) {
  const clock = createFakeClock(0);
  const told: { readonly agent: number; readonly url: string; readonly atMs: number }[] = [];
  const departures = new Departures<number>({
    clock,
    random,
    tell: (agent, url) => void told.push({ agent, url, atMs: clock.nowMs() }),
  });
  return { clock, told, departures };
}

const numbers = (count: number, from = 0): readonly number[] => Array.from({ length: count }, (_, at) => from + at);

test('departures reach at most 1,000 agents within 5 s, the first at once, all in the end, and in random order', (t) => {
  const { clock, told, departures } = fixture();

  departures.add(numbers(1_500), 'http://b');
  departures.add(numbers(1_500, 1_500), 'http://c');
  for (let step = 0; step < 3_000; step += 1) clock.pass(DEPARTURE_GAP_MS + DEPARTURE_JITTER_MS);

  t.is(told[0]?.atMs, 0);
  t.deepEqual(
    told.map(({ agent }) => agent).toSorted((a, b) => a - b),
    numbers(3_000),
  );
  for (const [place, { atMs }] of told.entries()) t.true(atMs - (told[place - 1_000]?.atMs ?? -Infinity) >= 5_000);
  t.notDeepEqual(
    told.slice(0, 1_500).map(({ agent }) => agent),
    numbers(1_500),
  );
  t.deepEqual(
    new Set(told.map(({ agent, url }) => `${agent < 1_500} ${url}`)),
    new Set(['true http://b', 'false http://c']),
  );
});

test('an agent gone by itself gets no departure; a wait for all of them is bounded, and then the rest go at once', async (t) => {
  const { clock, told, departures } = fixture(() => 0);
  departures.add(numbers(10), 'http://b');
  const waiting = [...numbers(10)].filter((agent) => departures.has(agent));
  departures.forget(waiting[0] ?? -1);
  const over = departures.over(20);

  for (let step = 0; step < 4; step += 1) clock.pass(DEPARTURE_GAP_MS);
  await over;

  t.is(told.length, 9);
  t.false(told.some(({ agent }) => agent === waiting[0]));
  await departures.over(1_000); // nobody is left
});
