/**
 * Two admins on one database: what happens to a cluster when its owner dies or freezes, and when the other one is
 * asked.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';

/** Longest time without an owner after a kill, in ms. Source: docs/promises.md, O2. */
const OWNERLESS_MS_MAX = 5_000;

const runs = (ledger: string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const line of readFileSync(ledger, 'utf8').split('\n').filter(Boolean)) counts[line] = (counts[line] ?? 0) + 1;
  return counts;
};

test('the owner is killed: the other admin takes over in time, the agents move to it, and nothing is lost or run twice', async (t) => {
  const fleet = await startFleet(t, { admins: 2, agents: 2 });
  const { owner, other, epoch } = await ownership(fleet);
  const rest = restClient(() => other.url, FLEET_KEYS.MASTER_KEY);
  const ledger = join(fleet.directory, 'ledger');
  const script = `echo $EDGE_EXECUTION_ID >>${ledger}; sleep 0.1; echo done`;
  const commands: { id: string }[] = [];
  for (let index = 0; index < 20; index += 1)
    commands.push(
      await restClient(() => owner.url, FLEET_KEYS.MASTER_KEY).post('/commands', {
        command_text: script,
        targeting: { type: 'all' },
      }),
    );

  const killedMs = performance.now();
  await owner.kill();
  const next = await until('a new owner', async () => {
    const now = await ownership(fleet);
    return now.owner === other ? now : null;
  });
  const tookMs = performance.now() - killedMs;
  commands.push(await rest.post('/commands', { command_text: script, targeting: { type: 'all' } }));
  const finished = await until(
    'all results',
    async () => {
      const rows = await fleet.sql<{ id: string; status: string; output: string }>(
        'select id, status, output from command_execution',
      );
      return rows.every(({ status }) => status !== 'pending' && status !== 'sent') ? rows : null;
    },
    60_000,
  );

  t.log(`${Math.round(tookMs)} ms without an owner`);
  t.true(tookMs < scaled(OWNERLESS_MS_MAX), `${Math.round(tookMs)} ms`);
  t.is(next.epoch, epoch + 1);
  t.is(finished.length, 2 * commands.length);
  t.deepEqual(new Set(finished.map(({ status, output }) => `${status} ${output}`)), new Set(['completed done\n']));
  t.deepEqual(runs(ledger), Object.fromEntries(finished.map(({ id }) => [id, 1])));
});

test('a frozen owner that wakes after a takeover writes nothing and delivers nothing; its agents are with the other', async (t) => {
  const fleet = await startFleet(t, { admins: 2, agents: 1 });
  const { owner, other } = await ownership(fleet);
  const rest = restClient(() => other.url, FLEET_KEYS.MASTER_KEY);
  const ledger = join(fleet.directory, 'ledger');

  owner.program.pause();
  await until('a new owner', async () => (await ownership(fleet)).owner === other);
  const command = await rest.post<{ id: string }>('/commands', {
    command_text: `echo $EDGE_EXECUTION_ID >>${ledger}`,
    targeting: { type: 'all' },
  });
  owner.program.resume();
  await owner.program.logged('a cluster is not owned by this admin any more');
  const row = await until(
    'the result',
    async () =>
      (
        await fleet.sql<{ id: string; status: string }>(
          `select id, status from command_execution where command_id = $1 and finished_at is not null`,
          [command.id],
        )
      )[0],
    60_000,
  );

  t.is(row.status, 'completed');
  t.deepEqual(runs(ledger), { [row.id]: 1 });
  t.is((await ownership(fleet)).owner, other);
});
