/** Freezes: nobody dies, and for a while nobody answers. */
import { setTimeout as delay } from 'node:timers/promises';
import type { KillPoint } from './kill-points.ts';
import type { World } from './world.ts';

/** How long the database is frozen, in ms. Source: the proof that the main job asks for. */
const FREEZE_MS = 60_000;

/** Longest that any call may take while the database does not answer, in ms, with a second for a busy machine. Source: invariants.md, L3. */
const ANSWER_MS_MAX = 6_000;

/** Freezes of a minute. */
export const PAUSES: readonly KillPoint[] = [
  { name: 'PostgreSQL is frozen for 60 s', strike: (world) => frozenPostgres(world, FREEZE_MS) },
];

/** The database stands still, with agents at work and clients that ask: all are answered in time, and nothing of it is lost. */
export async function frozenPostgres(world: World, freezeMs: number): Promise<void> {
  await world.create('slow');
  const thaw = await world.pausePostgres();
  const untilMs = performance.now() + freezeMs;
  try {
    while (performance.now() < untilMs) {
      const askedMs = performance.now();
      const attempt = await world.create();
      const tookMs = performance.now() - askedMs;
      if (attempt.answer !== 'refused') throw new Error(`L3: a create while the database stood still was ${attempt.answer}`);
      if (tookMs > ANSWER_MS_MAX) throw new Error(`L3: an answer took ${Math.round(tookMs)} ms`);
      await delay(250);
    }
  } finally {
    thaw();
  }
}
