/**
 * One admin sweeps whole tables, another one has the session of the node: the process of an execution that the first
 * finds to have expired ends (C7).
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { giveSweeps, sweptUnder } from '../../support/fleet/task-holder.ts';
import { until } from '../../support/until.ts';

const EXECUTIONS = 3;

/** A lease of a task, or of the cluster, may run out amid a try on a busy machine: then it shows nothing. */
const TRIES_MAX = 5;

const lives = (pid: number) => existsSync(`/proc/${pid}`);

/** Executions expire by the sweep of the admin that does not own their node. False: another one may have swept. */
async function expiresElsewhere(fleet: Fleet, pids: string): Promise<boolean> {
  const { owner, other, epoch } = await ownership(fleet);
  const sweepEpoch = await giveSweeps(fleet, other);
  const commands = await Promise.all(
    Array.from({ length: EXECUTIONS }, () =>
      fleet.run(`echo $$ >>${pids}; exec sleep 600`, { expired_at: muchLater() }),
    ),
  );
  const started = await until('all to run', () => {
    const found = existsSync(pids) ? readFileSync(pids, 'utf8').split('\n').filter(Boolean).map(Number) : [];
    return found.length === EXECUTIONS ? found : null;
  });

  await Promise.all(commands.map((command) => expireIn(fleet, command)));
  for (const command of commands) await fleet.settled(command);
  await until('all processes to be gone', () => started.every((pid) => !lives(pid)), 10_000);

  const after = await ownership(fleet);
  return after.owner === owner && after.epoch === epoch && (await sweptUnder(fleet, sweepEpoch));
}

test("an execution that another admin's sweep expired is ended on its node", async (t) => {
  const fleet = await startFleet(t, { admins: 2, agents: 1 });

  let isShown = false;
  for (let tried = 0; tried < TRIES_MAX && !isShown; tried += 1)
    isShown = await expiresElsewhere(fleet, join(fleet.directory, `pids-${tried}`));

  t.true(isShown, 'one admin swept and the other owned, from the beginning to the end');
});
