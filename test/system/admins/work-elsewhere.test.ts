/**
 * Work that is asked of an admin that does not own the nodes: their owner is told at once, and does not have to find
 * it.
 */
import test, { type ExecutionContext } from 'ava';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { FORGOTTEN_AFTER_MS } from '../../../persistence/sweeps/forgotten.ts';
import { hangAfter, isCrowded, scaled } from '../../support/busy.ts';
import { CLUSTER, FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

/** Commands one after another. */
const COMMANDS = 12;

/** Work that its owner is told of is there after this, in ms: nobody who waits for it notices. */
const TOLD_MS_MAX = 100;

/** Work that is looked for, and not told of, waits for longer than this, in ms. */
const FOUND_MS_MIN = FORGOTTEN_AFTER_MS;

const LISTENERS = `select pid from pg_stat_activity where datname = current_database() and query like 'listen %'`;

const scope = createScope();
let fleet: Fleet;
let owner: Rest;
/** The admin that owns nothing. */
let edge: Rest;

test.before('two admins and two agents start', async () => {
  fleet = await startFleet(scope, { admins: 2, agents: 2 });
  const found = await ownership(fleet);
  owner = restClient(() => found.owner.url, FLEET_KEYS.MASTER_KEY);
  edge = restClient(() => found.other.url, FLEET_KEYS.MASTER_KEY);
});
test.after.always('they end', () => scope.end());

test.serial('each admin hears everything on one connection', async (t) => {
  t.is((await fleet.sql(LISTENERS)).length, fleet.admins.length);
});

test.serial('a command is sent at once', async (t) => {
  t.timeout(hangAfter(60_000));
  const tookMs: number[] = [];
  for (let made = 0; made < COMMANDS; made += 1) {
    const command = await create('true');
    await fleet.settled(command);
    tookMs.push(...(await lasted(command, 'inserted_at', 'sent_at')));
  }

  isFast(t, 'until it was sent', tookMs, scaled(TOLD_MS_MAX));
});

test.serial('a command that expires after 3 s runs', async (t) => {
  t.timeout(hangAfter(60_000));
  const statuses: string[] = [];
  for (let made = 0; made < COMMANDS; made += 1) {
    const command = await create('true', { expired_at: new Date(Date.now() + 3_000).toISOString() }).catch(
      (error: Error) => error.message,
    );
    if (typeof command !== 'string') statuses.push(...(await fleet.settled(command)).map(({ status }) => status));
    else if (command.includes('must be in the future')) statuses.push('created too late');
    else throw new Error(command);
  }

  const completed = statuses.filter((status) => status === 'completed').length;
  t.log(`${completed} of ${statuses.length} ran`);
  t.true(isCrowded() ? completed > 0 : completed === statuses.length, statuses.join(' '));
});

test.serial('a cancel reaches the machine at once', async (t) => {
  t.timeout(hangAfter(60_000));
  const tookMs: number[] = [];
  for (let made = 0; made < 3; made += 1) {
    const command = await owner.post<CommandResource>('/commands', {
      command_text: 'exec sleep 600',
      targeting: { type: 'all' },
    });
    await fleet.settled(command, (executions) => executions.every(({ status }) => status === 'sent'));
    t.is((await settledAnswer(() => edge.call('POST', `/commands/${command.id}/cancel`))).status, 202);
    const ended = await fleet.settled(command);
    t.true(ended.every(({ status }) => status === 'cancelled'));
    tookMs.push(...(await lasted(command, 'cancel_requested_at', 'cancelled_at')));
  }

  isFast(t, 'until it was cancelled', tookMs, scaled(TOLD_MS_MAX));
});

test.serial('what was stored while nothing was heard is looked for as soon as something is', async (t) => {
  t.timeout(hangAfter(60_000));
  const tookMs: number[] = [];
  for (let made = 0; made < 3; made += 1) {
    await fleet.sql(`select pg_terminate_backend(pid) from (${LISTENERS}) as listening`);
    const command = await create('true');
    await fleet.settled(command);
    tookMs.push(...(await lasted(command, 'inserted_at', 'sent_at')));
    await until('all hear again', async () => (await fleet.sql(LISTENERS)).length === fleet.admins.length);
  }

  isFast(t, 'until it was sent', tookMs, FOUND_MS_MIN);
});

test.serial('a node that comes into a cluster of another admin is served by that one', async (t) => {
  t.timeout(hangAfter(60_000));
  await edge.post('/clusters', { name: 'annex' });
  const { node } = fleet.agent(1);
  const annexed = { body: { cluster_name: 'annex' } };
  t.is((await settledAnswer(() => owner.call('POST', `/nodes/${node}/change_cluster`, annexed))).status, 200);

  const command = await owner.post<CommandResource>('/commands', {
    command_text: 'echo moved',
    targeting: { type: 'clusters', cluster_names: ['annex', CLUSTER] },
  });

  const executions = await fleet.settled(command);
  t.deepEqual(
    executions.map(({ output }) => output),
    ['moved\n', 'moved\n'],
  );
});

function create(script: string, more: object = {}): Promise<CommandResource> {
  return edge.post<CommandResource>('/commands', { command_text: script, targeting: { type: 'all' }, ...more });
}

/** How long each execution of the command took from one to the other, in ms of the database's clock. */
async function lasted({ id }: CommandResource, from: string, to: string): Promise<readonly number[]> {
  const rows = await fleet.sql<{ ms: number }>(
    `select extract(epoch from ${to} - ${from})::float8 * 1000 as ms from command_execution where command_id = $1`,
    [id],
  );
  return rows.map(({ ms }) => ms);
}

/** Half of them took less than `msMax`; on a machine that has no time for anything, one is enough to show it. */
function isFast(t: ExecutionContext, what: string, tookMs: readonly number[], msMax: number): void {
  const inOrder = tookMs.toSorted((one, other) => one - other);
  const median = inOrder[Math.floor(inOrder.length / 2)] ?? Infinity;
  t.log(`${what}: ${median} ms (p50 of ${inOrder.length}), ${inOrder.at(-1)} ms at most`);
  t.true((isCrowded() ? inOrder[0] : median)! < msMax, inOrder.join(' '));
}
