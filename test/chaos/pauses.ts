/** Freezes: nobody dies, and for a while nobody answers. */
import { setTimeout as delay } from 'node:timers/promises';
import { scaled } from '../support/busy.ts';
import { until } from '../support/until.ts';
import type { KillPoint } from './kill-points.ts';
import type { Fixture } from './fixture.ts';

/** How long the database is frozen, in ms. Source: the proof that the main job asks for. */
const FREEZE_MS = 60_000;

/**
 * Longest that any call may take while the database does not answer, in ms, with a second for a busy machine. Source:
 * docs/promises.md, L3.
 */
const ANSWER_MS_MAX = 6_000;

/**
 * Longest until creates are stored again once the database is back, in ms, with two seconds for a busy machine. Source:
 * docs/promises.md, L3 (3 s).
 */
export const BACK_MS_MAX = 5_000;

/** Freezes of a minute. */
export const PAUSES: readonly KillPoint[] = [
  { name: 'PostgreSQL is frozen for 60 s', strike: (fixture) => frozenPostgres(fixture, FREEZE_MS) },
];

/**
 * The database stands still, with agents at work and clients that ask: all are answered in time, and nothing of it is
 * lost.
 */
export async function frozenPostgres(fixture: Fixture, freezeMs: number): Promise<void> {
  await fixture.create('slow');
  const thaw = await fixture.pausePostgres();
  const untilMs = performance.now() + freezeMs;
  try {
    while (performance.now() < untilMs) {
      const [attempt] = await Promise.all([inTime(fixture.create()), inTime(readRefused(fixture))]);
      if (attempt.answer !== 'refused')
        throw new Error(`L3: a create while the database stood still was ${attempt.answer}`);
      await delay(250);
    }
  } finally {
    thaw();
  }
  await until(
    'a create that is stored again (L3)',
    async () => (await fixture.create()).answer === 'stored',
    BACK_MS_MAX,
  );
}

async function readRefused(fixture: Fixture): Promise<void> {
  const answer = await fixture.fleet.rest.call('GET', '/nodes');
  if (answer.status !== 503 || answer.headers.get('retry-after') === null)
    throw new Error(
      `L3: a read while the database stood still was answered ${answer.status}, Retry-After ${answer.headers.get('retry-after')}`,
    );
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  const askedMs = performance.now();
  const given = await answer;
  const tookMs = performance.now() - askedMs;
  if (tookMs > scaled(ANSWER_MS_MAX)) throw new Error(`L3: an answer took ${Math.round(tookMs)} ms`);
  return given;
}
