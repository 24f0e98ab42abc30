/** A real fleet: admins and agents as processes of their own on a real database, and what a test says to them. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Pool, QueryResultRow } from 'pg';
import type { ClusterResource } from '../../actors/resources/cluster.ts';
import type { CommandResource, ExecutionResource } from '../../actors/resources/command.ts';
import type { EnrollmentKeyResource } from '../../actors/resources/enrollment-key.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { prepareAdmin, type AdminProgram, type FrontProxy } from './fleet/admin-program.ts';
import type { AdminPlace } from './networks/admin-networks.ts';
import { prepareAgent, type AgentProgram } from './fleet/agent-program.ts';
import { restClient, type Rest } from './fleet/rest.ts';
import type { Scope } from './scope.ts';
import { urlOf, type TestConnection } from './database/server.ts';
import { until } from './until.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { openPool } from './database/pool.ts';

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

/** Settings of one admin alone, made of its name and of those of all. */
export type EnvOf = (name: string, env: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;

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
  /** Where each admin stands; in the network of the test unless given. */
  readonly place?: () => AdminPlace;
  /** Of each. */
  readonly envOf?: EnvOf;
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
  /** By its place, the first unless given. */
  admin(place?: number): AdminProgram;
  /** By its place, the first unless given. */
  agent(place?: number): AgentProgram;
  /** Adds an admin and starts it; resolves when it serves. */
  addAdmin(): Promise<AdminProgram>;
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
  /** The node of an agent, the first unless given. */
  node(agent?: AgentProgram): Promise<NodeResource>;
  /** The admin that owns a cluster now, the fleet's unless given, and the epoch of its lease; null when nobody does. */
  owner(cluster?: string): Promise<{ readonly admin: AdminProgram; readonly epoch: number } | null>;
  /** Resolves when this node has this status. */
  reaches(agent: AgentProgram, status: NodeResource['status']): Promise<void>;
}

/** Starts a fleet that ends with the scope. Resolves when all of its agents are healthy. */
export async function startFleet(scope: Scope, options: FleetOptions = {}): Promise<Fleet> {
  const connection = options.connection ?? (await freshDatabase(scope));
  const directory = temporaryDirectory(scope);
  const pool = openPool(scope, { ...connection, max: 4, connectionTimeoutMillis: 60_000, query_timeout: 60_000 });

  const url = urlOf(connection, options.databasePassword);
  const env = {
    ...FLEET_KEYS,
    DATABASE_URL: url,
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ...options.env,
  };
  const admins: AdminProgram[] = [];
  const nextAdmin = async (): Promise<AdminProgram> => {
    const name = `admin-${admins.length + 1}`;
    const own = { ...env, ...options.envOf?.(name, env) };
    const admin = await prepareAdmin(scope, name, own, options.frontProxy, 'edge-admin', options.place?.());
    admins.push(admin);
    return admin;
  };
  for (let index = 1; index <= (options.admins ?? 1); index += 1) await nextAdmin();
  await Promise.all(admins.map((admin) => admin.start()));

  const agents: AgentProgram[] = [];
  const fleet = createFleet({
    admins,
    agents,
    directory,
    pool,
    scope,
    addAdmin: async () => {
      const admin = await nextAdmin();
      await admin.start();
      return admin;
    },
    masterKey: env.MASTER_KEY,
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
  readonly addAdmin: Fleet['addAdmin'];
  readonly agentEnv: Readonly<Record<string, string>>;
  readonly masterKey: string;
}

function createFleet({ admins, agents, directory, pool, scope, addAdmin, agentEnv, masterKey }: Parts): Fleet {
  const rest = restClient(() => admins[0]?.url ?? '', masterKey);
  const key = (body: object = {}) => rest.post<EnrollmentKeyResource>(`/clusters/${CLUSTER}/enrollment_keys`, body);
  const executionsOf = (command: CommandResource) =>
    rest.get<readonly ExecutionResource[]>(
      `/command_executions?command_id__in=${command.id}&page_size=100&sort=inserted_at`,
    );
  const sql = async <R extends QueryResultRow>(text: string, values: unknown[] = []) =>
    (await pool.query<R>(text, values)).rows;
  const agent = (place = 0) => placed(agents, place);
  const node = ({ node: id }: AgentProgram = agent()) => rest.get<NodeResource>(`/nodes/${id}`);
  const fleet: Fleet = {
    admins,
    agents,
    admin: (place = 0) => placed(admins, place),
    addAdmin,
    agent,
    rest,
    directory,
    key,
    executionsOf,
    node,
    sql,
    async owner(cluster = CLUSTER) {
      const [row] = await sql<{ name: string; epoch: string }>(
        'select a.name, w.epoch from cluster_ownership w join admin a on a.id = w.admin_id join cluster c on c.id = w.cluster_id where c.name = $1 and w.lease_until > clock_timestamp()',
        [cluster],
      );
      const admin = admins.find(({ name }) => name === row?.name);
      return admin === undefined ? null : { admin, epoch: Number(row?.epoch) };
    },
    async addAgent(env = {}) {
      const added = prepareAgent(scope, join(directory, `agent-${agents.length + 1}`), agentEnv);
      agents.push(added);
      const enrollment = env['ENROLLMENT_KEY'] ?? (await key()).key;
      added.start({ ENROLLMENT_KEY: enrollment, ...env });
      return added;
    },
    async addHealthyAgent(env) {
      const added = await fleet.addAgent(env);
      await added.live();
      await fleet.reaches(added, 'healthy');
      return added;
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
    async reaches(one, status) {
      await until(`${status} of node ${one.node}`, async () => {
        const now = await node(one);
        if (now.status !== status)
          throw new Error(`it is ${JSON.stringify(now)}; its agent says: ${one.program.output.slice(-1_000)}`);
        return true;
      });
    },
  };
  return fleet;
}

function placed<T>(programs: readonly T[], place: number): T {
  const found = programs[place];
  if (found === undefined) throw new Error(`the fleet has only ${programs.length} of them`);
  return found;
}

async function freshDatabase(scope: Scope): Promise<TestConnection> {
  // only here: it needs ava, which not every user of fleets runs in
  const { createDatabase } = await import('./database/database.ts');
  return createDatabase(scope);
}
