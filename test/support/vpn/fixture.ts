/** A real admin with a relay at a public address of a test's internet, and real agents on its machines. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { QueryResultRow } from 'pg';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { Program } from '../fleet/program.ts';
import { restClient, type Rest } from '../fleet/rest.ts';
import { endScriptsOf, enrollmentIn } from '../fleet/agent-program.ts';
import { FLEET_KEYS } from '../fleet.ts';
import { lostEchoes as lostEchoesOf } from '../networks/echoes.ts';
import { urlOf, type TestConnection } from '../database/server.ts';
import { startInternet, type Internet, type Machine } from '../networks/internet.ts';
import { programFile } from '../run/programs.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { openPortInto } from '../networks/port-into.ts';
import { openPool } from '../database/pool.ts';

/** Domain of all names. */
export const DOMAIN = 'edge.internal';

/** Port of the admin's API. */
export const ADMIN_PORT = 44_000;

/** Several programs that start at once, on a busy machine, in ms. */
const CONNECTED_MS_MAX = 90_000;

/** How packets go to a peer, as WireGuard itself shows it. */
export interface SeenPeer {
  readonly publicKey: string;
  /** `relayed`: by a socket of the agent on the loopback. */
  readonly path: 'direct' | 'relayed' | 'none';
  readonly endpoint: string;
  readonly handshakeSeconds: number;
  readonly receivedBytes: number;
}

/** A machine with an agent on it. */
export interface Member {
  readonly machine: Machine;
  /** Known once it enrolled. */
  readonly node: string;
  readonly program: Program;
  readonly runs: readonly Program[];
  /** Starts a run, with other settings if given. */
  start(env?: Env): void;
  /** Runs `edge-agent` with these words on its machine. */
  command(...words: readonly string[]): Promise<string>;
  /** Its interface, as `wg` shows it. */
  peers(): Promise<readonly SeenPeer[]>;
  interfaceName(): string;
}

/** All of it. */
export interface Fixture {
  readonly internet: Internet;
  readonly host: Machine;
  /** The run of now. */
  readonly admin: Program;
  /** All that admins wrote. */
  readonly adminRuns: readonly Program[];
  readonly rest: Rest;
  /** URL of the admin for the test itself. */
  readonly url: string;
  startAdmin(): Promise<void>;
  sql<R extends QueryResultRow>(text: string, values?: unknown[]): Promise<R[]>;
  key(cluster: string): Promise<EnrollmentKeyResource>;
  /** Starts an agent that enrols into a cluster. */
  member(machine: Machine, cluster: string, env?: Readonly<Record<string, string>>): Promise<Member>;
  /** The key of a member as the admin has it; empty when there is none. */
  keyOf(member: Pick<Member, 'node'>): Promise<string>;
  /** The other's entry in the interface of this one. */
  pathTo(from: Member, to: Member): Promise<SeenPeer | undefined>;
  /** Resolves when packets go this way between two, seen from both. */
  untilPath(one: Member, other: Member, path: SeenPeer['path'], msMax: number): Promise<void>;
}

/** Settings of programs. */
type Env = Readonly<Record<string, string>>;

/**
 * Starts the admin; `env` adds settings, or is told where it stands and says them. `given`: a database to use instead
 * of a fresh one on the server of the tests. All ends with the scope.
 */
export async function startFixture(
  scope: Scope,
  env: Env | ((host: Machine) => Env) = {},
  given?: TestConnection,
): Promise<Fixture> {
  const connection = given ?? (await freshDatabase(scope));
  const pool = openPool(scope, { ...connection, max: 4 });
  const internet = await startInternet(scope);
  const host = await internet.host('admin');
  const adminRuns: Program[] = [];
  const settings = {
    ...FLEET_KEYS,
    DATABASE_URL: urlOf(connection),
    DATABASE_POOL_MAX: '10',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ADMIN_NAME: 'admin',
    ADMIN_URLS: `http://${host.address}:${ADMIN_PORT}`,
    EMBEDDED_RELAY: 'true',
    DATA_DIR: join(host.directory, 'data'),
    ...(typeof env === 'function' ? env(host) : env),
  };
  const startAdmin = async (): Promise<void> => {
    const program = host.spawn(process.execPath, [programFile('edge-admin'), 'serve'], settings);
    adminRuns.push(program);
    await program.logged('edge-admin is ready');
  };
  await startAdmin();
  const url = `http://127.0.0.1:${await openPortInto(scope, host, ADMIN_PORT)}`;
  const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
  const keyOf: Fixture['keyOf'] = async ({ node }) =>
    (await pool.query<{ public_key: string }>('select public_key from mesh_member where node_id = $1', [node])).rows[0]
      ?.public_key ?? '';
  const pathTo: Fixture['pathTo'] = async (from, to) => {
    const key = await keyOf(to);
    return (await from.peers()).find(({ publicKey }) => publicKey === key);
  };
  const key = (cluster: string) => rest.post<EnrollmentKeyResource>(`/clusters/${cluster}/enrollment_keys`, {});
  return {
    internet,
    host,
    adminRuns,
    rest,
    url,
    startAdmin,
    key,
    get admin() {
      return adminRuns.at(-1) as Program;
    },
    async sql<R extends QueryResultRow>(text: string, values: unknown[] = []) {
      return (await pool.query<R>(text, values)).rows;
    },
    member: async (machine, cluster, more = {}) => startMember(scope, machine, (await key(cluster)).key, more),
    keyOf,
    pathTo,
    async untilPath(one, other, wanted, msMax) {
      await until(
        `${one.machine.name} and ${other.machine.name} ${wanted}`,
        async () => {
          const paths = await Promise.all([pathTo(one, other), pathTo(other, one)]);
          if (paths.some((path) => path?.path !== wanted)) throw new Error(`they are ${JSON.stringify(paths)}`);
          return true;
        },
        msMax,
      );
    },
  };
}

async function freshDatabase(scope: Scope): Promise<TestConnection> {
  // only here: it needs ava, in which a benchmark does not run
  const { createDatabase } = await import('../database/database.ts');
  return createDatabase({ teardown: (task) => scope.teardown(task) });
}

/** Its address is in no file of the machine: the enrolment key tells it. */
function startMember(
  scope: Scope,
  machine: Machine,
  enrollmentKey: string,
  more: Readonly<Record<string, string>>,
): Member {
  const runs: Program[] = [];
  const env = {
    AGENT_DATA_DIR: join(machine.directory, 'data'),
    ENROLLMENT_KEY: enrollmentKey,
    LOG_LEVEL: 'debug',
    ...more,
  };
  const start = (other: Env = {}): void =>
    void runs.push(machine.spawn(process.execPath, [programFile('edge-agent'), 'up'], { ...env, ...other }));
  const node = () => enrollmentIn(env.AGENT_DATA_DIR)?.node_id ?? '';
  scope.teardown(() => endScriptsOf(env.AGENT_DATA_DIR));
  start();
  const interfaceName = (): string => `edge${node().slice(0, 8)}`;
  return {
    machine,
    runs,
    start,
    interfaceName,
    get node() {
      return node();
    },
    get program() {
      return runs.at(-1) as Program;
    },
    command: async (...words) =>
      (await machine.run(process.execPath, [programFile('edge-agent'), ...words], env)).stdout,
    peers: () => peersOf(machine, interfaceName()),
  };
}

/** Peers of an interface on this machine. */
export async function peersOf(machine: Machine, interfaceName: string): Promise<readonly SeenPeer[]> {
  const { stdout } = await machine.run('wg', ['show', interfaceName, 'dump']);
  return stdout
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [publicKey = '', , endpoint = '', , handshake, received] = line.split('\t');
      const path = Number(handshake) === 0 ? 'none' : endpoint.startsWith('127.') ? 'relayed' : 'direct';
      return { publicKey, endpoint, path, handshakeSeconds: Number(handshake), receivedBytes: Number(received) };
    });
}

/** Resolves when all of them have a session. Several programs that start at once take their time on a busy machine. */
export async function connected(...members: readonly Member[]): Promise<void> {
  await Promise.all(
    members.map(async ({ machine, program }) =>
      until(
        `${machine.name} to be connected`,
        () => {
          if (!program.output.includes('"Connected"')) throw new Error(program.output.slice(-2_000));
          return true;
        },
        CONNECTED_MS_MAX,
      ),
    ),
  );
}

/** Name of a node in its cluster. */
export function nodeName(member: Member, cluster: string): string {
  return `node-${member.node}.${cluster}.${DOMAIN}`;
}

/** Whether a name answers an echo from there. */
export function pings(from: Member, name: string): Promise<boolean> {
  return from.machine.succeeds('ping', ['-c', '1', '-W', '1', name]);
}

/** How many of so many echoes, five a second, got lost. */
export function lostEchoes(from: Member, name: string, packets: number): Promise<number> {
  return lostEchoesOf(from.machine, name, packets, { intervalSeconds: 0.2 });
}

/** Resolves when a name answers from there. */
export async function reaches(from: Member, name: string, msMax = 30_000): Promise<void> {
  await until(`${from.machine.name} to reach ${name}`, () => pings(from, name), msMax).catch(async (error: Error) => {
    throw new Error(
      `${error.message}\n${(await from.machine.hosts()).slice(-1_500)}\n${JSON.stringify(await from.peers().catch(String))}\n${from.program.output.slice(-3_000)}`,
    );
  });
}
