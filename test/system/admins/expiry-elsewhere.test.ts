/**
 * Two admins sweep; only one of them has the session of the node. Whoever finds that an execution has expired, its
 * process ends (C7).
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { startFleet } from '../../support/fleet.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import { until } from '../../support/until.ts';

/** At one of so many that expire one after another the other admin comes first, but once in a thousand runs. */
const EXECUTIONS = 10;

/** Between two expiries, in ms: no multiple of the second between two sweeps. */
const APART_MS = 370;

const lives = (pid: number) => existsSync(`/proc/${pid}`);

test("an execution that another admin's sweep expired is ended on its node", async (t) => {
  const fleet = await startFleet(t, { admins: 2, agents: 1 });
  const pids = join(fleet.directory, 'pids');
  const commands = await Promise.all(
    Array.from({ length: EXECUTIONS }, () =>
      fleet.run(`echo $$ >>${pids}; exec sleep 600`, { expired_at: muchLater() }),
    ),
  );
  const started = await until('all to run', () => {
    const found = existsSync(pids) ? readFileSync(pids, 'utf8').split('\n').filter(Boolean).map(Number) : [];
    return found.length === EXECUTIONS ? found : null;
  });

  await Promise.all(commands.map((command, index) => expireIn(fleet, command, index * APART_MS)));
  for (const command of commands) await fleet.settled(command);

  await until('all processes to be gone', () => started.every((pid) => !lives(pid)), 10_000);
  t.deepEqual(started.filter(lives), []);
});
