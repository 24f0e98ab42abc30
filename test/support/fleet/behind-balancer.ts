/** Admins behind a balancer, which alone their agents are given, as programs on a database of their own. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { openBalancer, type Balancer } from '../net/balancer.ts';
import { createDatabase } from '../database/database.ts';
import { FLEET_KEYS } from '../fleet.ts';
import type { Scope } from '../scope.ts';
import { urlOf } from '../database/server.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';
import { prepareAdmin, type AdminProgram } from './admin-program.ts';
import { prepareAgent, type AgentProgram } from './agent-program.ts';
import { restClient, type Rest } from './rest.ts';

/** One step on a busy machine, in ms. */
const WAIT_MS_MAX = 90_000;

/** How they are set up. */
export interface BehindBalancerOptions {
  readonly agents: number;
  readonly admins: number;
  /** What each admin calls its own. */
  readonly ownUrl: (admin: AdminProgram, place: number) => string;
  /** Agents are given the URL of the first admin in place of the balancer's, and the last one owns their cluster. */
  readonly isFirstOnly?: boolean;
}

/** The fleet, with all nodes healthy. */
export interface BehindBalancer {
  readonly admins: readonly AdminProgram[];
  readonly agents: readonly AgentProgram[];
  readonly nodes: readonly NodeResource[];
  /** One an admin. */
  readonly rests: readonly Rest[];
  readonly balancer: Balancer;
  /** From the start of the agents until all nodes were healthy, in ms. */
  readonly settledMs: number;
}

/** Starts it. */
export async function behindBalancer(
  scope: Scope,
  { agents: agentCount, admins: adminCount, ownUrl, isFirstOnly = false }: BehindBalancerOptions,
): Promise<BehindBalancer> {
  const connection = await createDatabase({ teardown: (task) => scope.teardown(task) });
  const directory = temporaryDirectory(scope);
  const balancer = await openBalancer(scope);
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    METRICS_SCRAPE_TIMEOUT_MS: '60s', // a node on a crowded machine may take longer than the usual 5 s
  };
  let first: string | null = null;
  const admins: AdminProgram[] = [];
  for (let place = 0; place < adminCount; place += 1)
    admins.push(
      await prepareAdmin(scope, `admin-${place + 1}`, env, async (url) => {
        balancer.add(url);
        first ??= url;
        return Promise.resolve(isFirstOnly ? first : balancer.url);
      }),
    );
  for (const [place, admin] of admins.entries()) await admin.start({ ADMIN_OWN_URL: ownUrl(admin, place) });
  const rests = admins.map(({ url }) => restClient(() => url, FLEET_KEYS.MASTER_KEY));
  const [rest = restClient(() => '', null)] = isFirstOnly ? rests.toReversed() : rests;
  await rest.post('/clusters', { name: 'field' });
  const { key } = await until('an enrolment key', () =>
    Promise.any(
      rests.map((one) => one.post<EnrollmentKeyResource>('/clusters/field/enrollment_keys', { uses_remaining: null })),
    ),
  );
  const agents = Array.from({ length: agentCount }, (_none, place) =>
    prepareAgent(scope, join(directory, `agent-${place + 1}`), { ENROLLMENT_KEY: key }),
  );
  const beganMs = performance.now();
  for (const agent of agents) agent.start();
  const nodes = await until(
    'all nodes to be healthy',
    async () => {
      const found = await rest.get<readonly NodeResource[]>('/nodes');
      return found.length === agentCount && found.every(({ status }) => status === 'healthy') ? found : null;
    },
    WAIT_MS_MAX,
  );
  return { admins, agents, nodes, rests, balancer, settledMs: Math.round(performance.now() - beganMs) };
}
