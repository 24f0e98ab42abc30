/**
 * One admin sweeps whole tables, another one has the session of the node: the process of an execution that the first
 * finds to have expired ends (C7).
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { scaled } from '../../support/busy.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { giveSweeps, sweptUnder } from '../../support/fleet/task-holder.ts';
import { until } from '../../support/until.ts';

const EXECUTIONS = 5;

/** How long the process of an execution lives on after its row has ended, in ms: the median of some. */
const ENDED_LATE_MS_MAX = 1_000;

/** Wait between two looks whether a process lives, in ms: what is measured is no longer than some of these. */
const LOOK_EVERY_MS = 5;

/** An execution that did not end by then, in ms, was forgotten. */
const LIVES_MS_MAX = 20_000;

/** A lease of a task, or of the cluster, may run out amid a try on a busy machine: then it shows nothing. */
const TRIES_MAX = 5;

/** When this process ended: Unix ms. */
async function endOf(pid: number): Promise<number> {
  for (const sinceMs = performance.now(); existsSync(`/proc/${pid}`); await delay(LOOK_EVERY_MS))
    if (performance.now() - sinceMs > scaled(LIVES_MS_MAX)) throw new Error(`the process ${pid} lives`);
  return Date.now();
}

/**
 * Executions expire by the sweep of the admin that does not own their node: how long after its row the process of each
 * ended, in ms. Null: another one may have swept.
 */
async function expiredElsewhere(fleet: Fleet, pids: string): Promise<readonly number[] | null> {
  const { owner, other, epoch } = await ownership(fleet);
  const sweepEpoch = await giveSweeps(fleet, other);
  const places = Array.from({ length: EXECUTIONS }, (_, place) => `${pids}-${place}`);
  const commands = await Promise.all(
    places.map((place) => fleet.run(`echo $$ >${place}; exec sleep 600`, { expired_at: muchLater() })),
  );
  const started = await Promise.all(places.map((place) => until('it to run', () => pidIn(place))));
  const ends = Promise.all(started.map(endOf));

  await Promise.all(commands.map((command) => expireIn(fleet, command)));
  for (const command of commands) await fleet.settled(command);
  const endedMs = await ends;

  const rows = await fleet.sql<{ command: string; ms: number }>(
    `select command_id as command, (extract(epoch from finished_at) * 1000)::float8 as ms from command_execution where status = 'expired'`,
  );
  const after = await ownership(fleet);
  if (after.owner !== owner || after.epoch !== epoch || !(await sweptUnder(fleet, sweepEpoch))) return null;
  return commands.map(({ id }, place) => (endedMs[place] ?? NaN) - (rows.find((row) => row.command === id)?.ms ?? NaN));
}

/** Null: it has not begun. */
function pidIn(file: string): number | null {
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) || null : null;
}

test("the process of an execution that another admin's sweep expired ends on its node within milliseconds", async (t) => {
  const fleet = await startFleet(t, { admins: 2, agents: 1 });

  let late: readonly number[] | null = null;
  for (let tried = 0; tried < TRIES_MAX && late === null; tried += 1)
    late = await expiredElsewhere(fleet, join(fleet.directory, `pid-${tried}`));

  if (late === null) throw new Error('one admin was to sweep and the other to own, from the beginning to the end');
  t.log(`ended ${late.map(Math.round).join(', ')} ms after their rows`);
  const median = late.toSorted((one, other) => one - other)[Math.floor(EXECUTIONS / 2)] ?? NaN;
  t.true(median < scaled(ENDED_LATE_MS_MAX), `${median} ms`);
});
