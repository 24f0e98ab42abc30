/**
 * Which admins agents try, in which order, and that what admins are told at a restart reaches the agents. Source:
 * docs/architecture/sessions.md.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { Client } from 'pg';
import type { EnrollAnswer } from '../../../transport/protocol/enrollment.ts';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin, type AdminProgram } from '../../support/fleet/admin-program.ts';
import { prepareAgent, type AgentProgram } from '../../support/fleet/agent-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { createDatabase } from '../../support/database/database.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { hangAfter } from '../../support/busy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { urlOf } from '../../support/database/server.ts';

/** Agents refresh their settings at least this often, in ms. Source: docs/architecture/sessions.md. */
const REFRESH_MS_MAX = 600_000;

/** One step on a busy machine, and one test, in ms. */
const WAIT_MS_MAX = 60_000;
const TEST_MS_MAX = 300_000;

/**
 * Two admins of one database with one list of URLs. The first owns the cluster; `env` are its settings, which may be
 * changed between two runs.
 */
async function startAdmins(scope: Scope) {
  const connection = await createDatabase({ teardown: (task) => scope.teardown(task) });
  const directory = temporaryDirectory(scope);
  const env: Record<string, string> = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  const envs = [{ ...env }, { ...env }] as const;
  const first = await prepareAdmin(scope, 'first', envs[0]);
  const second = await prepareAdmin(scope, 'second', envs[1]);
  Object.assign(envs[0], { ADMIN_URLS: `${first.url},${second.url}`, ADMIN_OWN_URL: first.url });
  Object.assign(envs[1], { ADMIN_URLS: `${first.url},${second.url}`, ADMIN_OWN_URL: second.url });
  await first.start();
  const rest = restClient(() => first.url, FLEET_KEYS.MASTER_KEY);
  await rest.post('/clusters', { name: 'field' });
  await second.start();
  const { key } = await rest.post<EnrollmentKeyResource>('/clusters/field/enrollment_keys', { uses_remaining: null });
  const owns = async (admin: AdminProgram): Promise<boolean> => {
    const client = new Client(connection);
    await client.connect();
    const { rows } = await client.query<{ name: string }>(
      'select a.name from cluster_ownership w join admin a on a.id = w.admin_id where w.lease_until > clock_timestamp()',
    );
    await client.end();
    return rows[0]?.name === admin.name;
  };
  return {
    env: envs[0],
    first,
    second,
    owns,
    agent: (more: Readonly<Record<string, string>> = {}) =>
      prepareAgent(scope, join(directory, randomBytes(4).toString('hex')), { ENROLLMENT_KEY: key, ...more }),
  };
}

/**
 * The admin that the agent tried first, from a position of its log on. One that does not own the cluster sends it to
 * the one that does, or did a moment ago, which alone is in the log then: with two admins it was the other one.
 */
function triedFirst(agent: AgentProgram, from: number, admins: readonly AdminProgram[]): string | undefined {
  const [line] = agent.program
    .lines(from)
    .filter(
      ({ msg }) =>
        msg === 'The admin cannot be reached' ||
        msg === 'Another admin owns this cluster' ||
        msg === 'The admin does not own this cluster, and names none to go to' ||
        msg === 'Connected',
    );
  const named = admins.findIndex(({ url }) => url === line?.['admin']);
  return admins[line?.['msg'] === 'Another admin owns this cluster' ? 1 - named : named]?.name;
}

async function connected(agent: AgentProgram, admin: AdminProgram, from: number): Promise<void> {
  await until(
    `a session with ${admin.name}`,
    () => agent.program.lines(from).some((line) => line['msg'] === 'Connected' && line['admin'] === admin.url),
    WAIT_MS_MAX,
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${agent.program.output.slice(from)}`);
  });
}

/** What the agent has of admins on its disk, where its next start finds it. */
async function kept(agent: AgentProgram): Promise<EnrollAnswer> {
  return (
    JSON.parse(await readFile(join(agent.dataDirectory, 'identity.json'), 'utf8')) as { enrollment: EnrollAnswer }
  ).enrollment;
}

test.serial(
  'an agent uses the second admin while the first is down, then the first again, and adopts changed settings',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const { env, first, second, agent: prepare } = await startAdmins(t);
    const agent = prepare();
    agent.start();
    await connected(agent, first, 0);
    const before = await kept(agent);
    t.deepEqual(before.admin_urls, [first.url, second.url]);
    t.true(before.settings.refresh_ms <= REFRESH_MS_MAX);
    t.deepEqual(before.settings.derp_map_urls, []);
    t.is(observersOf(before).length, 2);

    let from = agent.program.output.length;
    await first.kill();
    await connected(agent, second, from);
    t.is(triedFirst(agent, from, [first, second]), 'first');

    const maps = ['https://relays.example/map.json', 'https://other.example/map.json'];
    Object.assign(env, {
      ADMIN_URLS: `${second.url},${first.url}`,
      CORE_DERP_MAP_URLS: maps.join(','),
      SSH_RECORDING: 'all',
    });
    await first.start();
    from = agent.program.output.length;
    await second.kill();
    await connected(agent, first, from);
    t.is(triedFirst(agent, from, [first, second]), 'first');
    const after = await until('the new settings', async () => {
      const now = await kept(agent);
      return now.settings.derp_map_urls.length > 0 ? now : null;
    });
    t.deepEqual(after.settings.derp_map_urls, maps, 'in order');
    t.is(after.settings.ssh_recording?.mode, 'all');
    t.deepEqual(after.admin_urls, [second.url, first.url]);
    t.is(new Set([...observersOf(before), ...observersOf(after)]).size, 4, 'observers have new keys with each start');

    await second.start();
    from = agent.program.output.length;
    await first.kill();
    await connected(agent, second, from);
    t.is(triedFirst(agent, from, [first, second]), 'second', 'which comes first now');
  },
);

test.serial(
  'agents that start while the first admin is down join the second, in the order of the key or of their settings',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const { first, second, owns, agent: prepare } = await startAdmins(t);
    await first.kill();
    await until('a new owner', () => owns(second), WAIT_MS_MAX);

    const [told, own] = [prepare(), prepare({ ADMIN_URLS: `${second.url},${first.url}` })];
    for (const agent of [told, own]) agent.start();
    await Promise.all([told, own].map((agent) => connected(agent, second, 0)));

    t.is(triedFirst(told, 0, [first, second]), 'first');
    t.is(triedFirst(own, 0, [first, second]), 'second');
    t.deepEqual((await kept(own)).admin_urls, [first.url, second.url], 'what the admins said is kept, and not used');
  },
);

/** Public keys. */
function observersOf({ settings: { mesh } }: EnrollAnswer): readonly string[] {
  return mesh?.mode === 'embedded' ? mesh.observers.map(({ public_key: key }) => key) : [];
}
