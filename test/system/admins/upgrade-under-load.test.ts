/**
 * docs/operations.md, Upgrade: two admins of the release before are drained, stopped and started with the present one,
 * one after the other, while clients call both and commands run; then, amid an upgrade, the way back.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin, type AdminProgram } from '../../support/fleet/admin-program.ts';
import { prepareAgent } from '../../support/fleet/agent-program.ts';
import { callingClients, type ClientCall } from '../../support/fleet/clients.ts';
import { RELEASE_BEFORE, releaseAt, releaseTest, type Release } from '../../support/fleet/release.ts';
import { restClient, settledAnswer } from '../../support/fleet/rest.ts';
import { urlOf } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';

const test = releaseTest(RELEASE_BEFORE);

const TEST_MS_MAX = 300_000;

/** One step on a busy machine, in ms. */
const WAIT_MS_MAX = 90_000;

/**
 * Two admins of the release before, each with an agent of its own cluster, and their successors under the same names.
 */
async function pair(t: ExecutionContext, release: Release) {
  const connection = await createDatabase(t, { schema: 'empty' });
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ADMIN_BALANCE_AFTER_MS: '1s',
  };
  const names = ['admin-1', 'admin-2'];
  const prepared = (file?: URL) => Promise.all(names.map((name) => prepareAdmin(t, name, env, undefined, file)));
  const [older, newer] = [await prepared(release.program('edge-admin.ts')), await prepared()];
  const urls = { ADMIN_URLS: older.map(({ url }) => url).join(',') };
  /** At the address of the older one of this place. */
  const start = (admin: AdminProgram, place: number) => {
    const url = older[place]?.url ?? '';
    return admin.start({ ...urls, ADMIN_OWN_URL: url, ADMIN_PEER_URL: url, ADMIN_API_PORT: new URL(url).port });
  };
  for (const [place, admin] of older.entries()) await start(admin, place);
  const rests = older.map(({ url }) => restClient(() => url, FLEET_KEYS.MASTER_KEY));
  for (const cluster of ['one', 'two']) {
    await rests[0]!.post('/clusters', { name: cluster });
    const { key } = await rests[0]!.post<EnrollmentKeyResource>(`/clusters/${cluster}/enrollment_keys`, {});
    prepareAgent(
      t,
      join(release.directory, cluster),
      { ...urls, ENROLLMENT_KEY: key },
      release.program('edge-agent.ts'),
    ).start();
  }
  const nodes = await until(
    'both nodes to be healthy',
    async () => {
      const healthy = await rests[0]!.get<readonly NodeResource[]>('/nodes?status__in=healthy');
      return healthy.length === 2 ? healthy : null;
    },
    WAIT_MS_MAX,
  );
  return { older, newer, start, rests, nodes, ledger: join(release.directory, 'ledger') };
}

/** Drains one admin, as the page says, and resolves when it owns nothing. */
async function drained(rest: ReturnType<typeof restClient>, name: string): Promise<void> {
  await rest.post(`/admins/${name}/drain`);
  await until(
    `${name} to own nothing`,
    async () =>
      Object.keys((await rest.get<Readonly<Record<string, object>>>('/admins/edge_clusters'))[name] ?? {}).length === 0,
    WAIT_MS_MAX,
  );
}

/** Of ten calls one creates a command, three are done by the owner of a cluster, the others read. */
function nextCall(count: number, nodes: readonly NodeResource[], ledger: string): ClientCall {
  if (count % 10 === 0) {
    const script = `echo "$EDGE_EXECUTION_ID" >>${ledger}`;
    return { method: 'POST', path: '/commands', body: { command_text: script, targeting: { type: 'all' } } };
  }
  if (count % 3 !== 0) return { method: 'GET', path: count % 2 === 0 ? '/nodes' : '/admins/me' };
  const node = nodes[(count / 3) % nodes.length];
  return { method: 'PATCH', path: `/nodes/${node?.id}/labels`, body: { labels: { turn: `${count}` } } };
}

async function stopped({ program }: AdminProgram): Promise<number | null> {
  program.terminate();
  return (await program.ended()).code;
}

test('two admins are upgraded under load, and taken back, with no call failed after a retry and no command lost', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const release = await releaseAt(t, RELEASE_BEFORE);
  const { older, newer, start, rests, nodes, ledger } = await pair(t, release);
  const commands: string[] = [];
  let labelled = 0;
  const clients = callingClients(
    rests,
    (count) => nextCall(count, nodes, ledger),
    ({ method }, { data }) => {
      if (method === 'POST') commands.push((data as { readonly id: string }).id);
      if (method === 'PATCH') labelled += 1;
    },
  );

  // the first one, and back again: nothing that it did is lost
  await drained(rests[1]!, 'admin-1');
  t.is(await stopped(older[0]!), 0);
  await start(newer[0]!, 0); // migrates beneath the other
  await rests[0]!.post('/admins/admin-1/resume');
  await drained(rests[0]!, 'admin-2');
  await rests[0]!.post('/admins/admin-2/resume');
  t.is(await stopped(newer[0]!), 0);
  await until('the release before to own all', async () => {
    const owners = await rests[1]!.get<Readonly<Record<string, object>>>('/admins/edge_clusters');
    return Object.keys(owners['admin-2'] ?? {}).length === 2 || null;
  });
  await rests[1]!.post('/commands', { command_text: 'true', targeting: { type: 'all' } });

  // and once more, both
  await start(newer[0]!, 0);
  await drained(rests[0]!, 'admin-2');
  t.is(await stopped(older[1]!), 0);
  await start(newer[1]!, 1);
  await rests[0]!.post('/admins/admin-2/resume');
  const counts = await clients.stop();

  t.log(
    `${counts.calls} calls, ${counts.retried} answered by the retry; ${commands.length} commands, ${labelled} labelled`,
  );
  t.deepEqual(counts.failed, []);
  await until(
    'the end of all commands',
    async () => {
      const { status, total } = await rests[0]!.call('GET', '/command_executions?status__in=pending,sent');
      return status === 200 && total === 0;
    },
    WAIT_MS_MAX,
  );
  const started = readFileSync(ledger, 'utf8').trim().split('\n');
  t.is(started.length, commands.length * 2);
  t.is(new Set(started).size, started.length, 'nothing ran twice');
  const completed = await settledAnswer(() =>
    rests[1]!.call<readonly ExecutionResource[]>('GET', '/command_executions?status__in=completed'),
  );
  t.is(completed.total, commands.length * 2 + 2, completed.text);
});

test('the release before does not start on the newer schema, and says what to do', async (t) => {
  const release = await releaseAt(t, RELEASE_BEFORE);
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(await createDatabase(t)),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  const older = await prepareAdmin(t, 'older', env, undefined, release.program('edge-admin.ts'));

  await t.throwsAsync(older.start(), {
    message: /made by a newer version of this program .* restore the database from before/u,
  });
});
