/**
 * Logins by SSH that no admin could decide: each is an event once one can be told, also after a restart of the
 * machine's agent.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { Client } from 'pg';
import { eventIdOf } from '../../../actors/event-id.ts';
import { createDatabase } from '../../support/database/database.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { hangAfter } from '../../support/busy.ts';
import { logsIn } from '../../support/ssh/raw-ssh-client.ts';

const fleet = sharedFleet(test, { agents: 1 });

const events = (asked: Fleet = fleet()) =>
  asked.sql<{ event: string; username: string; method: string; result: string; id: string | null; ms: string }>(`
  select id as event, data->>'username' as username, data->>'auth_method' as method, data->>'result' as result, data->>'ssh_username_id' as id, extract(epoch from time) * 1000 as ms
  from event where type = 'edge.ssh_username.verified' order by time`);

/** What an agent has to tell of, as it lies on its disk. */
const kept = (directory: string) =>
  JSON.parse(readFileSync(join(directory, 'ssh-unanswered.json'), 'utf8')) as readonly { readonly id: string }[];

test.serial('a login that was tried while the admin was away is refused, and told when it is back, once', async (t) => {
  t.timeout(hangAfter(90_000));
  const agent = fleet().agent();
  const { id: node, ssh_port: port } = await fleet().node(agent);
  await fleet().admin().kill();
  const triedMs = Date.now();

  const isIn = await logsIn(port, 'ada', 'a password of the tests');
  const overMs = Date.now();
  await agent.kill();
  const [login] = kept(agent.dataDirectory);
  await fleet().admin().start();
  agent.start();
  await agent.live();
  const { time: connected } = await agent.program.logged('Connected');
  const told = await until('the event', async () => {
    const rows = await events();
    return rows.length > 0 ? rows : null;
  });
  const lateMsMax = Date.now() - Date.parse(String(connected)); // it says how long ago it was, and may be heard late
  await until('the agent forgot it', () => kept(agent.dataDirectory).length === 0);
  await agent.kill();
  agent.start();
  await agent.live();
  await fleet().settled(await fleet().run('true'));

  t.false(isIn);
  const [{ ms, ...event }] = told as [(typeof told)[number]];
  t.deepEqual(event, {
    event: eventIdOf(node, login?.id ?? ''),
    username: 'ada',
    method: 'unknown',
    result: 'failure',
    id: null,
  });
  t.true(
    Number(ms) >= triedMs && Number(ms) <= overMs + lateMsMax + 1_000,
    `${ms} is between ${triedMs} and ${overMs}, and at most ${lateMsMax} ms later`,
  );
  t.is((await events()).length, 1, 'and not once more');
});

test.serial('a login that was tried while the database was away is told on the session that lives, once', async (t) => {
  t.timeout(hangAfter(90_000));
  const connection = await createDatabase(t);
  const locked = await startFleet(t, { agents: 1, connection });
  const agent = locked.agent();
  const { id: node, ssh_port: port } = await locked.node(agent);
  const holder = new Client(connection);
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query('begin; lock table ssh_username in access exclusive mode');

  const isIn = await logsIn(port, 'ada', 'a password of the tests');
  const [login] = kept(agent.dataDirectory);
  await holder.query('rollback');
  await until('the agent forgot it', () => kept(agent.dataDirectory).length === 0);
  const told = await events(locked);

  t.false(isIn);
  t.deepEqual(
    told.map(({ event, username }) => [event, username]),
    [[eventIdOf(node, login?.id ?? ''), 'ada']],
  );
  t.is(agent.program.lines().filter(({ msg }) => msg === 'Connected').length, 1, 'on its first session');
});
