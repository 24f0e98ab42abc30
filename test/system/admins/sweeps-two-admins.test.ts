/** Two admins and one that sweeps whole tables: when it dies, the other one does so within seconds. */
import test from 'ava';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { expireIn, muchLater } from '../../support/fleet/expiry.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { taskHolder } from '../../support/fleet/task-holder.ts';
import { until } from '../../support/until.ts';

/** Longest without sweeps after a kill, in ms: a lease of 3 s, a look each second, and a second for the rest. */
const FOLLOWED_MS_MAX = 5_000;

const sweeper = (fleet: Fleet): Promise<AdminProgram> => taskHolder(fleet, 'sweeps', FOLLOWED_MS_MAX);

test('one admin sweeps whole tables; after its kill another expires executions within seconds, and metrics name it', async (t) => {
  const fleet = await startFleet(t, { admins: 2, agents: 1 });
  const at = (admin: AdminProgram, key: keyof typeof FLEET_KEYS) => restClient(() => admin.url, FLEET_KEYS[key]);
  const saysWhoSweeps = async (admin: AdminProgram): Promise<string | undefined> =>
    /task_holder\{task="sweeps",holder="([^"]*)"\} 1/u.exec(
      (await at(admin, 'METRICS_KEY').call('GET', '/admins/me/metrics/raw')).text,
    )?.[1];
  // whose lease ran out on a busy machine is followed
  const holder = await until('both to say who sweeps', async () => {
    const now = await sweeper(fleet);
    const said = await Promise.all(fleet.admins.map(saysWhoSweeps));
    if (said.some((name) => name !== now.name)) throw new Error(`${now.name} sweeps, and they say ${said.join()}`);
    return now;
  });
  const other = fleet.admins.find((admin) => admin !== holder)!;
  const expired = async (id: string): Promise<boolean> =>
    (await fleet.sql(`select from command_execution where command_id = $1 and status = 'expired'`, [id])).length === 1;
  await fleet.agent().kill(); // nobody runs it

  await holder.kill();
  const command = await at(other, 'MASTER_KEY').post<{ id: string }>('/commands', {
    command_text: 'true',
    targeting: { type: 'all' },
    expired_at: muchLater(),
  });
  await expireIn(fleet, command);
  const createdMs = performance.now();
  await until('the execution to expire', () => expired(command.id), FOLLOWED_MS_MAX);
  t.log(`expired ${Math.round(performance.now() - createdMs)} ms after the kill`);

  t.is(await sweeper(fleet), other);
  await t.notThrowsAsync(until('the other one to say so', async () => (await saysWhoSweeps(other)) === other.name));
});
