/** The waits between the tries to reach an admin. */
import test from 'ava';
import { reconnectDelayMs } from '../../../../agent/session/backoff.ts';
import { RECONNECT_MS_MAX, RECONNECT_MS_MIN } from '../../../../transport/protocol/limits.ts';
import { seededNumbers } from '../../../support/seeded.ts';

/** A fleet, and how long its admin takes from a kill until it listens again, in ms. */
const AGENTS = 10_000;
const AWAY_MS = 2_500;

/** The last agent of it has dialled that admin by then, in ms from the kill: all of it is to be back within 5 s. */
const LAST_DIAL_MS_MAX = 4_500;

/** The end of the waits that never end otherwise. */
const ROUND_OF_LONGEST = 32;

test('a fleet whose admin is away for a moment has dialled it again a moment later', (t) => {
  const number = seededNumbers(17);
  let lastMs = 0;

  for (let agent = 0; agent < AGENTS; agent += 1) {
    let atMs = 0;
    for (let round = 0; atMs < AWAY_MS; round += 1) atMs += reconnectDelayMs(round, number() / 2 ** 32);
    lastMs = Math.max(lastMs, atMs);
  }

  t.true(lastMs <= LAST_DIAL_MS_MAX, `the last agent dials after ${lastMs} ms`);
});

test('waits grow from the shortest to the longest, and chance spreads each of them', (t) => {
  const rounds = Array.from({ length: ROUND_OF_LONGEST }, (_, round) => round);
  const longest = rounds.map((round) => reconnectDelayMs(round, 1));

  t.deepEqual(new Set(rounds.map((round) => reconnectDelayMs(round, 0))), new Set([RECONNECT_MS_MIN]));
  t.true((longest[0] ?? 0) > RECONNECT_MS_MIN);
  t.deepEqual(
    longest,
    longest.toSorted((one, other) => one - other),
  );
  t.is(longest.at(-1), RECONNECT_MS_MAX);
  t.is(reconnectDelayMs(Number.MAX_SAFE_INTEGER, 1), RECONNECT_MS_MAX);
});
