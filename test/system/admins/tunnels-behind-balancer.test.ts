/** Tunnels find the admin that wants them where agents know a balancer before all admins. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test from 'ava';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { openBalancer } from '../../support/balancer.ts';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import { prepareAdmin, type AdminProgram } from '../../support/fleet/admin-program.ts';
import { prepareAgent } from '../../support/fleet/agent-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import type { Scope } from '../../support/scope.ts';
import { urlOf } from '../../support/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const AGENTS = 3;
const ADMINS = 2;
const SOURCES = ['agent', 'host', 'wireguard'];
/** Of each source, at each admin. */
const ROUNDS = 2;

/** One step on a busy machine, and one test, in ms. */
const WAIT_MS_MAX = 90_000;
const TEST_MS_MAX = 300_000;

/** Admins behind a balancer, which alone their agents are given. `ownUrl`: what each calls its own. */
async function behindBalancer(scope: Scope, ownUrl: (admin: AdminProgram, place: number) => string) {
  const connection = await createDatabase({ teardown: (task) => scope.teardown(task) });
  const directory = temporaryDirectory(scope);
  const balancer = await openBalancer(scope);
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  const admins: AdminProgram[] = [];
  for (let place = 0; place < ADMINS; place += 1)
    admins.push(
      await prepareAdmin(scope, `admin-${place + 1}`, env, async (url) => {
        balancer.add(url);
        return Promise.resolve(balancer.url);
      }),
    );
  for (const [place, admin] of admins.entries()) await admin.start({ ADMIN_OWN_URL: ownUrl(admin, place) });
  const rests = admins.map(({ url }) => restClient(() => url, FLEET_KEYS.MASTER_KEY));
  const [rest = restClient(() => '', null)] = rests;
  await rest.post('/clusters', { name: 'field' });
  const { key } = await until('an enrolment key', () =>
    Promise.any(
      rests.map((one) => one.post<EnrollmentKeyResource>('/clusters/field/enrollment_keys', { uses_remaining: null })),
    ),
  );
  const agents = Array.from({ length: AGENTS }, (_none, place) =>
    prepareAgent(scope, join(directory, `agent-${place + 1}`), { ENROLLMENT_KEY: key }),
  );
  for (const agent of agents) agent.start();
  const nodes = await until(
    'all nodes to be healthy',
    async () => {
      const found = await rest.get<readonly NodeResource[]>('/nodes');
      return found.length === AGENTS && found.every(({ status }) => status === 'healthy') ? found : null;
    },
    WAIT_MS_MAX,
  );
  return { admins, agents, nodes, rests, balancer };
}

/** The statuses of scrapes of everything at every admin, one after the other. */
async function scraped({ rests, nodes }: Awaited<ReturnType<typeof behindBalancer>>): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const rest of rests)
      for (const { id } of nodes)
        for (const source of SOURCES)
          statuses.push((await rest.call('GET', `/nodes/${id}/metrics/${source}/raw`)).status);
  return statuses;
}

/** Connections that went through the balancer so far. */
function through({ balancer }: Awaited<ReturnType<typeof behindBalancer>>): number {
  return [...balancer.connections.values()].reduce((sum, count) => sum + count, 0);
}

const ALL = Array.from({ length: ADMINS * AGENTS * SOURCES.length * ROUNDS }, () => 200);

test.serial(
  'agents that know a balancer and get to the own URLs too: scrapes work at each admin, 36 of 36',
  async (t) => {
    t.timeout(hangAfter(TEST_MS_MAX));
    const fleet = await behindBalancer(t, ({ url }) => url);

    const before = through(fleet);

    t.deepEqual(await scraped(fleet), ALL);
    t.is(through(fleet), before, 'tunnels go where they are wanted at once');
    t.is(ALL.length, 36);
  },
);

test.serial('agents that get to nothing but the balancer: the same, by whichever admin it leads to', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const fleet = await behindBalancer(t, (_admin, place) => `http://127.0.0.${place + 1}:1`);

  const before = through(fleet);

  t.deepEqual(await scraped(fleet), ALL);
  t.true(through(fleet) >= before + ADMINS * AGENTS);
});
