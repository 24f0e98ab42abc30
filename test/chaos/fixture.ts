/**
 * What chaos is let loose on: a database, admins and agents as real processes, a wire between them, and the books that
 * tell what must be true.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFleet, type EnvOf, type Fleet } from '../support/fleet.ts';
import type { AgentProgram } from '../support/fleet/agent-program.ts';
import type { AdminProgram } from '../support/fleet/admin-program.ts';
import {
  ADDRESSES,
  openAdminNetworks,
  type AdminNetworks,
  type AdminPlace,
} from '../support/networks/admin-networks.ts';
import { openClock, type Clock } from '../support/wall-clock.ts';
import { startMovableServer, type MovableServer } from '../support/database/movable-server.ts';
import {
  startReplicatedMovableServer,
  type ReplicatedMovableServer,
} from '../support/database/replicated-movable-server.ts';
import { childrenOf, signalAll } from '../support/processes.ts';
import type { Scope } from '../support/scope.ts';
import { until } from '../support/until.ts';
import { keepBooks, type Attempt, type Books } from './books.ts';
import { prepareHolds } from './commit-hold.ts';
import { ask, createCommand, gateOf, starts, uptimeS, type CreateOptions, type ScriptKind } from './scripts.ts';
import { openWire, type Wire } from './wire.ts';

/**
 * Agents of a fixture, unless told otherwise. Enough that a command has something to fan out to, few enough for two
 * cores.
 */
const AGENTS = 3;

/**
 * An agent that was not back so long after all admins are, is started again, in ms: its back-off grows with every kill
 * and is tested elsewhere.
 */
const TIMEOUT_MS = 1_500;

/** An agent younger than this is not started again, in ms: on a busy machine a start takes its time. */
const YOUTH_MS = 6_000;

/** A fixture, with the books of everything that was asked and said. */
export interface Fixture {
  readonly fleet: Fleet;
  readonly postgres: Pick<MovableServer, 'connection' | 'directory' | 'pid'>;
  /** The same, where it can be restored; null: it has a standby instead. */
  readonly restorable: MovableServer | null;
  /** Kills the database; its synchronous standby takes its place. Null: it has none. */
  readonly failOver: (() => Promise<void>) | null;
  /** Clocks of its programs; null: they are right. */
  readonly clocks: { readonly admins: Clock; readonly agents: Clock } | null;
  /** Before each admin, in their order. */
  readonly wires: readonly Wire[];
  /** Networks of its admins, and where each stands; null: all are in that of this process. */
  readonly networks: (AdminNetworks & { placeOf(admin: AdminProgram): AdminPlace }) | null;
  readonly attempts: readonly Attempt[];
  /** Where every script writes its execution's id when it runs. */
  readonly ledger: string;
  /** Of its admins. */
  readonly encryptionKey: string;
  readonly books: Books;
  /** How many processes were killed, restores were made, programs were frozen, and clocks were set. */
  kills: number;
  restores: number;
  freezes: number;
  clocksSet: number;
  /**
   * Asks for a command on every node, the first admin unless another is given; resolves when it was answered or the
   * connection broke.
   */
  create(kind?: ScriptKind, more?: CreateOptions): Promise<Attempt>;
  /** Asks for its end until that is answered with 2xx. */
  cancel(attempt: Attempt): Promise<void>;
  /** Asks for the same once more, as a client does that had no answer. */
  again(attempt: Attempt): Promise<void>;
  /** The admin that owns the cluster now, and the epoch of its lease; null when nobody does. */
  owner(): Promise<{ readonly admin: AdminProgram; readonly epoch: number } | null>;
  /** The executions in the ledger, once for each time that their script ran. */
  runs(): readonly string[];
  /** When each was last seen to start, as seconds since this machine booted. */
  startedS(): ReadonlyMap<string, number>;
  /** Lets scripts that wait at their gate go on. */
  openGate(attempt: Attempt): void;
  killAdmin(admin?: AdminProgram): Promise<void>;
  killAgent(agent?: AgentProgram): Promise<void>;
  /** `kill -9` of the database server; it is started again by itself. */
  killPostgres(): Promise<void>;
  /** Freezes the database server with all of its processes; the returned function lets it go on. */
  pausePostgres(): Promise<() => void>;
  /** Brings everything back that was killed, and resolves when every execution is over. */
  recover(): Promise<void>;
}

/** How a fixture is opened. */
export interface FixtureOptions {
  readonly admins?: number;
  readonly agents?: number;
  /** Settings of its admins. */
  readonly env?: Readonly<Record<string, string>>;
  readonly agentEnv?: Readonly<Record<string, string>>;
  /** Its programs have clocks that can be set. */
  readonly hasClocks?: boolean;
  /** Its admins have networks of their own, with places for so many. This process is to have one itself. */
  readonly places?: number;
  /** The database has a synchronous standby, and cannot be restored. */
  readonly hasStandby?: boolean;
  readonly envOf?: EnvOf;
}

/** Opens a fixture of its own. */
export async function openFixture(
  scope: Scope,
  {
    admins = 1,
    agents = AGENTS,
    env = {},
    agentEnv = {},
    hasClocks = false,
    places,
    hasStandby = false,
    envOf,
  }: FixtureOptions = {},
): Promise<Fixture> {
  const restorable = hasStandby ? null : await startMovableServer(scope);
  const replicated = restorable === null ? await startReplicatedMovableServer(scope) : null;
  const postgres = restorable ?? (replicated as ReplicatedMovableServer);
  const networks = places === undefined ? null : await networksOf(scope, places, postgres);
  const clocks = hasClocks
    ? {
        admins: await openClock(join(postgres.directory, 'clock-of-admins')),
        agents: await openClock(join(postgres.directory, 'clock-of-agents')),
      }
    : null;
  const encryptionKey = randomBytes(32).toString('base64');
  const wires: Wire[] = [];
  let books: Books | null = null;
  const fleet = await startFleet(scope, {
    admins,
    agents,
    connection: postgres.connection,
    env: { LOG_LEVEL: 'info', ENCRYPTION_KEY: encryptionKey, ...clocks?.admins.env, ...networks?.env, ...env },
    ...(envOf && { envOf }),
    ...(networks && { place: networks.place }),
    agentEnv: { ...clocks?.agents.env, ...agentEnv },
    frontProxy: async (adminUrl) => {
      const wire = await openWire(scope, adminUrl, networks?.agents);
      wires.push(wire);
      books?.watch(wire);
      return wire.url;
    },
  });
  await prepareHolds(postgres.connection);
  const ledger = join(fleet.directory, 'ledger');
  appendFileSync(ledger, '');

  const attempts: Attempt[] = [];
  const kept = keepBooks(wires, attempts);
  books = kept;
  const fixture: Fixture = {
    fleet,
    postgres,
    restorable,
    failOver: replicated?.failOver ?? null,
    clocks,
    encryptionKey,
    networks,
    wires,
    attempts,
    ledger,
    books: kept,
    kills: 0,
    restores: 0,
    freezes: 0,
    clocksSet: 0,
    create: (kind, more) => createCommand(fixture, attempts, kind, more),
    async cancel(attempt) {
      await until(
        'an answered cancel',
        async () => (await fleet.rest.call('POST', `/commands/${attempt.id}/cancel`)).status < 300,
      );
      attempt.overAtS = Math.min(attempt.overAtS ?? Infinity, uptimeS());
    },
    again: (attempt) => ask(attempt, fleet.rest),
    owner: () => fleet.owner(),
    runs: () => starts(ledger).map(({ execution }) => execution),
    startedS: () => new Map(starts(ledger).map(({ execution, atS }) => [execution, atS])),
    openGate: ({ mark }) => appendFileSync(gateOf(ledger, mark), ''),
    async killAdmin(admin = fleet.admins[0]) {
      fixture.kills += 1;
      await admin?.kill();
    },
    async killAgent(agent = fleet.agents[0]) {
      fixture.kills += 1;
      await agent?.kill();
    },
    async killPostgres() {
      const pid = await postgres.pid();
      if (pid === undefined) return;
      fixture.kills += 1;
      process.kill(pid, 'SIGKILL');
      await until('another server that answers', async () => {
        const next = await postgres.pid();
        return next !== undefined && next !== pid && (await fleet.sql('select 1 as one')).length === 1;
      });
    },
    async pausePostgres() {
      const pid = await postgres.pid();
      const frozen = pid === undefined ? [] : [pid, ...childrenOf(pid)];
      signalAll(frozen, 'SIGSTOP');
      return () => signalAll(frozen, 'SIGCONT');
    },
    recover: () => recover(fixture),
  };
  return fixture;
}

/** Networks of admins, with the database in them. */
async function networksOf(scope: Scope, places: number, { connection }: Pick<MovableServer, 'connection'>) {
  const networks = await openAdminNetworks(scope, places);
  const { host, port, user, database } = connection;
  const url = await networks.serveDatabase(scope, join(host, `.s.PGSQL.${port}`), user, database);
  const byAddress = new Map<string, AdminPlace>();
  return {
    ...networks,
    env: { DATABASE_URL: url },
    agents: ADDRESSES.agents,
    place: () => {
      const place = networks.place();
      byAddress.set(place.address, place);
      return place;
    },
    placeOf: ({ url: adminUrl, name }: AdminProgram): AdminPlace => {
      const place = byAddress.get(new URL(adminUrl).hostname);
      if (place === undefined) throw new Error(`${name} has no network of its own`);
      return place;
    },
  };
}

async function recover(fixture: Fixture): Promise<void> {
  const { fleet } = fixture;
  for (const admin of fleet.admins) if (admin.program.exit !== null) await admin.start();
  for (const agent of fleet.agents) if (agent.program.exit !== null) agent.start();
  const sinceMs = performance.now();
  let backMs = sinceMs;
  await until(
    'the end of every execution',
    async () => {
      const [row] = await fleet.sql<{ open: number }>(
        'select count(*)::int as open from command_execution where finished_at is null',
      );
      if (row?.open === 0) return true;
      if (performance.now() - backMs < TIMEOUT_MS) return false;
      backMs = performance.now();
      for (const agent of fleet.agents) {
        if (isLive(agent) || performance.now() - agent.program.startedMs < YOUTH_MS) continue;
        await fixture.killAgent(agent);
        agent.start();
      }
      return false;
    },
    60_000,
  );
}

/** Whether the last that the agent said of its session is that it is live. */
function isLive(agent: AgentProgram): boolean {
  const said = agent.program
    .lines()
    .map((line) => String(line['msg']))
    .findLast((message) =>
      ['Connected', 'The session ended', 'The admin cannot be reached', 'Another admin owns this cluster'].includes(
        message,
      ),
    );
  return said === 'Connected' && agent.program.exit === null;
}
