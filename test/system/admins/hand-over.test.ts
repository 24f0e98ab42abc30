/** Clusters change hands while both admins live: nobody who uses the service notices. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import test from 'ava';
import { isCrowded } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient, type Answer } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';

/** Pause between two calls of a client, in ms: it asks all the time, and leaves the machine to others. */
const CALL_EVERY_MS = 20;

/** Clients that call at once, each with all admins in turn. */
const CLIENTS = 3;

/** What went wrong for clients that try once more at another admin. */
interface Calls {
  readonly failed: string[];
  done: number;
  stop(): Promise<void>;
}

/**
 * Clients that create commands and labels at every admin in turn, and try once more at the next one when that fails,
 * until they are stopped.
 */
function callers(fleet: Fleet, script: string): Calls {
  const failed: string[] = [];
  const calls = { failed, done: 0, isOver: false, stop: async (): Promise<void> => undefined };
  const client = async (place: number): Promise<void> => {
    for (let turn = place; !calls.isOver; turn += 1) {
      const problem = await oneCall(fleet, turn, script);
      if (problem !== null) failed.push(problem);
      calls.done += 1;
      await delay(CALL_EVERY_MS);
    }
  };
  const running = Promise.all(Array.from({ length: CLIENTS }, (_, place) => client(place)));
  calls.stop = async () => {
    calls.isOver = true;
    await running;
  };
  return calls;
}

/** Null: it was done, at the first or the second admin, or on a crowded machine at one of the next two tries. */
async function oneCall(fleet: Fleet, turn: number, script: string): Promise<string | null> {
  const headers = { 'idempotency-key': randomUUID() };
  const isCommand = turn % 2 === 0;
  const problems: string[] = [];
  const tries = isCrowded() ? 4 : 2; // a call may be given up before the clusters have changed hands there
  for (let tried = turn; tried < turn + tries; tried += 1) {
    const admin = fleet.admins[tried % fleet.admins.length] as AdminProgram;
    const rest = restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
    try {
      const answer: Answer<unknown> = isCommand
        ? await rest.call('POST', '/commands', {
            body: { command_text: script, targeting: { type: 'all' } },
            headers,
          })
        : await rest.call('PATCH', `/nodes/${fleet.agent().node}/labels`, { body: { labels: { turn: `${turn}` } } });
      if (answer.status < 300) return null;
      problems.push(`${admin.name} ${answer.status} ${answer.text}`);
    } catch (error) {
      problems.push(`${admin.name} ${String((error as Error).cause ?? error)}`);
    }
  }
  return problems.join('; ');
}

/** How often each execution ran. */
function runs(ledger: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const line of readFileSync(ledger, 'utf8').split('\n').filter(Boolean)) counts[line] = (counts[line] ?? 0) + 1;
  return counts;
}

/** All executions, once none is open. */
function allEnded(fleet: Fleet): Promise<readonly { readonly id: string; readonly status: string }[]> {
  return until(
    'the end of all executions',
    async () => {
      const rows = await fleet.sql<{ id: string; status: string }>('select id, status from command_execution');
      return rows.every(({ status }) => status !== 'pending' && status !== 'sent') ? rows : null;
    },
    60_000,
  );
}

test('a stopping admin hands its clusters over: no call fails after a retry, and nothing is lost or run twice', async (t) => {
  const fleet = await startFleet(t, { admins: 3, agents: 2 });
  for (const name of ['two', 'three', 'four']) await fleet.rest.post('/clusters', { name });
  const { owner, epoch } = await ownership(fleet);
  const ledger = join(fleet.directory, 'ledger');
  const calls = callers(fleet, `echo $EDGE_EXECUTION_ID >>${ledger}`);
  await until('calls', () => calls.done > 10);

  owner.program.terminate();
  const exit = await owner.program.ended();
  const next = await ownership(fleet);
  const before = calls.done;
  await until('calls', () => calls.done > before + 20);
  await calls.stop();
  const executions = await allEnded(fleet);

  t.deepEqual(calls.failed, []);
  t.is(exit.code, 0);
  t.not(next.owner.name, owner.name);
  t.is(next.epoch, epoch + 1);
  t.deepEqual(new Set(executions.map(({ status }) => status)), new Set(['completed']));
  t.deepEqual(runs(ledger), Object.fromEntries(executions.map(({ id }) => [id, 1])));
  t.truthy(owner.program.lines().find(({ msg }) => msg === 'clusters were handed over to another admin'));
  for (const agent of fleet.agents)
    t.truthy(
      agent.program
        .lines()
        .find(({ msg, admin }) => msg === 'Another admin owns this cluster' && admin === next.owner.dialledUrl),
    );
  await until(
    'all to be owned',
    async () =>
      (await fleet.sql(`select 1 from cluster_ownership where lease_until <= clock_timestamp()`)).length === 0,
  );
  t.is((await ownership(fleet)).epoch, epoch + 1);
});

/** How many clusters each admin owns now, by name. */
async function owned(fleet: Fleet): Promise<Readonly<Record<string, number>>> {
  const rows = await fleet.sql<{ name: string; clusters: number }>(
    `select a.name, count(*)::int as clusters from cluster_ownership w join admin a on a.id = w.admin_id
      where w.lease_until > clock_timestamp() group by a.name order by a.name`,
  );
  return Object.fromEntries(rows.map(({ name, clusters }) => [name, clusters]));
}

test('an admin that joins gets its share, one that is drained gives all away and gets nothing: nobody sees a failure', async (t) => {
  const fleet = await startFleet(t, { admins: 3, agents: 2, env: { ADMIN_BALANCE_AFTER_MS: '2000' } });
  const newcomer = fleet.admin(2);
  await newcomer.kill();
  for (const name of ['two', 'three', 'four', 'five', 'six']) await fleet.rest.post('/clusters', { name });
  await until('two owners of all', async () => Object.values(await owned(fleet)).join(' ') === '3 3');
  const ledger = join(fleet.directory, 'ledger');
  const calls = callers(fleet, `echo $EDGE_EXECUTION_ID >>${ledger}; sleep 0.2; echo done`);
  const ledgered = join(fleet.directory, 'long');
  const long = await fleet.run(
    `echo $EDGE_EXECUTION_ID >>${ledgered}; for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 1; done`,
  );

  await newcomer.start();
  await until('three shares', async () => Object.values(await owned(fleet)).join(' ') === '2 2 2', 60_000);
  const drained = (await ownership(fleet)).owner;
  await fleet.sql('update admin_identity set draining_since = clock_timestamp() where name = $1', [drained.name]);
  await until('it to own nothing', async () => !(drained.name in (await owned(fleet))), 60_000);
  const rest = restClient(() => drained.url, FLEET_KEYS.MASTER_KEY);
  await rest.post('/clusters', { name: 'elsewhere' });
  const owner = await until('its owner', () => fleet.owner('elsewhere'));
  await calls.stop();
  const executions = await allEnded(fleet);
  const outputs = (await fleet.executionsOf(long)).map(({ output }) => output);

  t.deepEqual(calls.failed, []);
  t.not(owner.admin.name, drained.name);
  t.false(drained.name in (await owned(fleet)));
  t.deepEqual({ ...runs(ledger), ...runs(ledgered) }, Object.fromEntries(executions.map(({ id }) => [id, 1])));
  t.deepEqual(outputs, ['1\n2\n3\n4\n5\n6\n7\n8\n', '1\n2\n3\n4\n5\n6\n7\n8\n']);
});
