/** Two admins and an agent on a primary with a synchronous standby, which is promoted when the primary is killed. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { column } from '../../support/database/columns.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { hangAfter, scaled } from '../../support/busy.ts';
import { startReplicatedServers } from '../../support/database/replicated-servers.ts';
import { until } from '../../support/until.ts';

/**
 * Longest from the promotion until creates are taken again at every admin, in ms: a second for a host, two for a lease.
 */
const BACK_MS_MAX = 5_000;

/** Pause between two creates of a client, in ms. */
const EVERY_MS = 20;

/** A client that creates one command after another at one admin, and keeps what it was told. */
function startClient(admin: AdminProgram, script: string) {
  const rest = restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
  const acknowledged: { readonly id: string; readonly atMs: number }[] = [];
  const stopping = new AbortController();
  const create = async (): Promise<void> => {
    const answer = await rest
      .call<{ id: string }>('POST', '/commands', {
        body: { command_text: script, targeting: { type: 'all' } },
        headers: { 'idempotency-key': randomUUID() },
      })
      .catch(() => null);
    if (answer?.status === 201) acknowledged.push({ id: answer.data.id, atMs: performance.now() });
  };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await create();
      await delay(EVERY_MS);
    }
  })();
  return {
    acknowledged,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

test('after a synchronous standby is promoted, admins own what they owned, nothing confirmed is lost or runs twice', async (t) => {
  t.timeout(hangAfter(120_000));
  const servers = await startReplicatedServers(t);
  const fleet = await startFleet(t, {
    admins: 2,
    agents: 1,
    connection: servers.primary.connection,
    env: { DATABASE_URL: servers.url },
  });
  const { owner } = await ownership(fleet);
  const ledger = join(fleet.directory, 'ledger');
  const clients = fleet.admins.map((admin) => startClient(admin, `echo $EDGE_EXECUTION_ID >>${ledger}`));
  t.teardown(() => Promise.all(clients.map((client) => client.stop())));
  await until('commands at both', () => clients.every(({ acknowledged }) => acknowledged.length > 20));

  await servers.primary.kill();
  const killedMs = performance.now();
  await servers.promote();
  const promotedMs = performance.now();
  const firsts = await until('creates at both admins', () => {
    const after = clients.map(({ acknowledged }) => acknowledged.find(({ atMs }) => atMs > promotedMs)?.atMs);
    return after.every((atMs) => atMs !== undefined) ? after : null;
  });
  const backMs = Math.max(...firsts) - promotedMs;
  t.log(
    `promoted ${Math.round(promotedMs - killedMs)} ms after the kill; creates again after another ${firsts.map((ms) => Math.round(ms - promotedMs)).join(' and ')} ms`,
  );
  await until('more of them', () =>
    clients.every(({ acknowledged }) => acknowledged.filter(({ atMs }) => atMs > promotedMs).length > 20),
  );
  await Promise.all(clients.map((client) => client.stop()));
  const rows = await until(
    'the end of all executions',
    async () => {
      const all = await servers.standby.sql<{ id: string; command: string; status: string }>(
        'select id, command_id as command, status from command_execution',
      );
      return all.every(({ status }) => status !== 'pending' && status !== 'sent') ? all : null;
    },
    60_000,
  );

  t.deepEqual(await servers.standby.sql(`select a.name from cluster_ownership w join admin a on a.id = w.admin_id`), [
    { name: owner.name },
  ]);
  t.true(backMs < scaled(BACK_MS_MAX), `${Math.round(backMs)} ms`);
  const stored = new Set(column(rows, 'command'));
  t.deepEqual(
    clients.flatMap(({ acknowledged }) => column(acknowledged, 'id').filter((id) => !stored.has(id))),
    [],
  );
  t.deepEqual(new Set(column(rows, 'status')), new Set(['completed']));
  const ran = readFileSync(ledger, 'utf8').split('\n').filter(Boolean);
  t.deepEqual(ran.toSorted(), column(rows, 'id').toSorted());
  for (const { program } of fleet.admins) {
    const said = program.lines().map(({ msg }) => String(msg));
    t.true(
      said.some((line) => line.startsWith('a standby of the database was promoted, and has all')),
      said.join('\n'),
    );
    t.false(said.some((line) => line.includes('The admin starts anew')));
  }
});
