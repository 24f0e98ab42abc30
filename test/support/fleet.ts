/** A real fleet: admins and agents as processes of their own on a real database, and what a test says to them. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Pool, type QueryResultRow } from 'pg';
import type { ClusterResource } from '../../actors/resources/cluster.ts';
import type { CommandResource, ExecutionResource } from '../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { prepareAdmin, type AdminProgram, type FrontProxy } from './fleet/admin-program.ts';
import { prepareAgent, type AgentProgram } from './fleet/agent-program.ts';
import { restClient, type Rest } from './fleet/rest.ts';
import type { Scope } from './scope.ts';
import { urlOf, type TestConnection } from './server.ts';
import { until } from './until.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Keys of a fleet's admins, one a scope. */
export const FLEET_KEYS = {
  MASTER_KEY: 'master-key-of-the-fleet-12345',
  API_KEY: 'api-key-of-the-fleet-12345678',
  METRICS_KEY: 'metrics-key-of-the-fleet-1234',
  MCP_KEY: 'mcp-key-of-the-fleet-12345678',
  PROXY_KEY: 'proxy-key-of-the-fleet-123456',
} as const;

/** The cluster that a fleet starts with. */
export const CLUSTER = 'fleet';

/** How a fleet starts. */
export interface FleetOptions {
  readonly agents?: number;
  readonly admins?: number;
  /** Settings of the admins, besides those of the fleet. */
  readonly env?: Readonly<Record<string, string>>;
  /** Settings of the agents. */
  readonly agentEnv?: Readonly<Record<string, string>>;
  /** Written into the URL of the database; the server of the tests asks for none. */
  readonly databasePassword?: string;
  /** A database to use instead of a fresh one on the server of the tests. */
  readonly connection?: TestConnection;
  /** Puts something between the agents and each admin. */
  readonly frontProxy?: FrontProxy;
}

/** What to run, besides the script. Without a targeting: everything. */
export interface RunOptions {
  readonly targeting?: object;
  readonly timeout?: number;
  readonly expired_at?: string;
}

/** A running fleet. */
export interface Fleet {
  readonly admins: readonly AdminProgram[];
  readonly agents: readonly AgentProgram[];
  /** Of the first admin, with the master key. */
  readonly rest: Rest;
  /** A directory for the test's own files, such as ledgers. */
  readonly directory: string;
  sql<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>;
  /** An enrolment key of the fleet's cluster. */
  key(body?: object): Promise<EnrollmentKeyResource>;
  /** Adds an agent and starts it; it enrols with a fresh key unless its settings say otherwise. */
  addAgent(env?: Readonly<Record<string, string>>): Promise<AgentProgram>;
  /** The same; resolves when it is healthy. */
  addHealthyAgent(env?: Readonly<Record<string, string>>): Promise<AgentProgram>;
  /** Creates a command; all of its executions exist then. */
  run(script: string, options?: RunOptions): Promise<CommandResource>;
  /** The executions of a command as they are now, oldest first. */
  executionsOf(command: CommandResource): Promise<readonly ExecutionResource[]>;
  /** The same, once they are as `wanted`; all terminal unless given. */
  settled(
    command: CommandResource,
    wanted?: (executions: readonly ExecutionResource[]) => boolean,
  ): Promise<readonly ExecutionResource[]>;
  node(agent: AgentProgram): Promise<NodeResource>;
  /** Resolves when this node has this status. */
  reaches(agent: AgentProgram, status: NodeResource['status']): Promise<void>;
}

/** Starts a fleet that ends with the scope. Resolves when all of its agents are healthy. */
export async function startFleet(scope: Scope, options: FleetOptions = {}): Promise<Fleet> {
  const connection = options.connection ?? (await freshDatabase(scope));
  const directory = temporaryDirectory(scope);
  const pool = new Pool({ ...connection, max: 4 });
  pool.on('error', () => {}); // a killed server; the next query dials again
  scope.teardown(() => pool.end());

  const url = urlOf(connection, options.databasePassword);
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: url,
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ...options.env,
  };
  const admins: AdminProgram[] = [];
  for (let index = 1; index <= (options.admins ?? 1); index += 1)
    admins.push(await prepareAdmin(scope, `admin-${index}`, env, options.frontProxy));
  await Promise.all(admins.map((admin) => admin.start()));

  const agents: AgentProgram[] = [];
  const fleet = createFleet({
    admins,
    agents,
    directory,
    pool,
    scope,
    agentEnv: { ADMIN_URLS: admins.map(({ dialledUrl }) => dialledUrl).join(','), ...options.agentEnv },
  });
  await fleet.rest.post<ClusterResource>('/clusters', { name: CLUSTER });
  for (let index = 0; index < (options.agents ?? 0); index += 1) await fleet.addAgent();
  await Promise.all(agents.map((agent) => agent.live()));
  await Promise.all(agents.map((agent) => fleet.reaches(agent, 'healthy')));
  return fleet;
}

interface Parts {
  readonly admins: readonly AdminProgram[];
  readonly agents: AgentProgram[];
  readonly directory: string;
  readonly pool: Pool;
  readonly scope: Scope;
  readonly agentEnv: Readonly<Record<string, string>>;
}

function createFleet({ admins, agents, directory, pool, scope, agentEnv }: Parts): Fleet {
  const rest = restClient(() => admins[0]?.url ?? '', FLEET_KEYS.MASTER_KEY);
  const key = (body: object = {}) => rest.post<EnrollmentKeyResource>(`/clusters/${CLUSTER}/enrollment_keys`, body);
  const executionsOf = (command: CommandResource) =>
    rest.get<readonly ExecutionResource[]>(
      `/command_executions?command_id__in=${command.id}&page_size=100&sort=inserted_at`,
    );
  const node = (agent: AgentProgram) => rest.get<NodeResource>(`/nodes/${agent.node}`);
  const fleet: Fleet = {
    admins,
    agents,
    rest,
    directory,
    key,
    executionsOf,
    node,
    async sql<R extends QueryResultRow>(text: string, values: unknown[] = []) {
      return (await pool.query<R>(text, values)).rows;
    },
    async addAgent(env = {}) {
      const agent = prepareAgent(scope, join(directory, `agent-${agents.length + 1}`), agentEnv);
      agents.push(agent);
      const enrollment = env['ENROLLMENT_KEY'] ?? (await key()).key;
      agent.start({ ENROLLMENT_KEY: enrollment, ...env });
      return agent;
    },
    async addHealthyAgent(env) {
      const agent = await fleet.addAgent(env);
      await agent.live();
      await fleet.reaches(agent, 'healthy');
      return agent;
    },
    run: (script, { targeting = { type: 'all' }, ...more } = {}) =>
      rest.post<CommandResource>('/commands', { command_text: script, targeting, ...more }),
    settled: (
      command,
      wanted = (executions) => executions.every(({ status }) => status !== 'pending' && status !== 'sent'),
    ) =>
      until(`the end of command ${command.id}`, async () => {
        const executions = await executionsOf(command);
        return wanted(executions) ? executions : null;
      }),
    async reaches(agent, status) {
      await until(`${status} of node ${agent.node}`, async () => {
        const now = await node(agent);
        if (now.status !== status)
          throw new Error(`it is ${JSON.stringify(now)}; its agent says: ${agent.program.output.slice(-1_000)}`);
        return true;
      });
    },
  };
  return fleet;
}

async function freshDatabase(scope: Scope): Promise<TestConnection> {
  // only here: it needs ava, which not every user of fleets runs in
  const { createDatabase } = await import('./database.ts');
  return createDatabase(scope);
}
