/**
 * Two real PostgreSQL servers: a primary, and a standby that follows it by streaming replication and can be promoted.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, cp, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { findBinaries } from '../../../persistence/embedded/binaries.ts';
import { ensureInitialised, runAs } from '../../../persistence/embedded/initialisation.ts';
import { preparePlace, type Place } from '../../../persistence/embedded/place.ts';
import { freePort } from '../net/free-ports.ts';
import { scaled } from '../busy.ts';
import type { Scope } from '../scope.ts';
import type { TestConnection } from './server.ts';
import { processesOf, signal } from './server-processes.ts';
import { until } from '../until.ts';

const USER = 'edge';
const DATABASE = 'edge';

/** One of the two. */
export interface ReplicatedServer {
  readonly connection: TestConnection;
  /** SIGKILL to all of its processes. */
  kill(): Promise<void>;
  /** Starts it again after a kill, where it was and with what it has on its disk. */
  startAgain(): Promise<void>;
  /** All of its processes stand still, and go on. */
  pause(): Promise<void>;
  resume(): void;
  /** One statement, or several, on a connection of its own. */
  sql<Row>(text: string): Promise<readonly Row[]>;
}

/** The pair. */
export interface ReplicatedServers {
  /** As DATABASE_URL names both. */
  readonly url: string;
  readonly primary: ReplicatedServer;
  readonly standby: ReplicatedServer;
  /** The standby takes writes from now on; resolves when it does. */
  promote(): Promise<void>;
}

/**
 * Starts both, which end with the scope. `synchronous`: a commit is acknowledged only when the standby has it on its
 * disk.
 */
export async function startReplicatedServers(
  scope: Scope,
  { synchronous = true }: { readonly synchronous?: boolean } = {},
): Promise<ReplicatedServers> {
  const first = await madePlace(scope);
  await writeFile(
    join(first.pgData, 'pg_hba.conf'),
    'host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n',
  );
  const parameters = {
    wal_level: 'replica',
    max_wal_senders: '4',
    max_connections: '150',
    wal_sender_timeout: '5s',
    log_statement: 'none',
  };
  const primary = await startServer(scope, first, parameters);
  await primary.sql(`create database ${DATABASE}`);
  await primary.stop(); // its files are whole then, and may be copied

  const second = await madePlace(scope, first);
  await writeFile(join(second.pgData, 'standby.signal'), '');
  // in a file, so that a test may cut the standby off
  await appendFile(
    join(second.pgData, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${primary.connection.port} user=${USER} application_name=follower'\n`,
  );
  const again = await startServer(scope, first, {
    ...parameters,
    port: String(primary.connection.port),
    ...(synchronous && { synchronous_standby_names: 'follower' }),
  });
  const standby = await startServer(scope, second, parameters);
  await until('the standby to follow', async () => {
    const rows = await again.sql<{ sync_state: string }>(`select sync_state from pg_stat_replication`);
    return rows[0]?.sync_state === (synchronous ? 'sync' : 'async');
  });
  const ports = [again, standby].map(({ connection }) => `127.0.0.1:${connection.port}`).join(',');
  return {
    url: `postgresql://${USER}@${ports}/${DATABASE}?target_session_attrs=read-write`,
    primary: again,
    standby,
    promote: () => promoted(standby),
  };
}

/** It takes writes when this resolves. A promotion that is waited for is a long query, which replay may cancel. */
export async function promoted(standby: { sql(text: string): Promise<readonly object[]> }): Promise<void> {
  await until('a promotion', async () => {
    if ((await standby.sql('select where pg_is_in_recovery()')).length === 0) return true;
    await standby.sql('select pg_promote(false)');
    return false;
  });
}

/** Data of a new server, or a copy of another one's, which is stopped. */
async function madePlace(scope: Scope, from?: Place): Promise<Place> {
  const dir = await mkdtemp(join(tmpdir(), 'edge-test-pg-'));
  scope.teardown(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  const place = await preparePlace(dir);
  if (from === undefined) {
    await ensureInitialised(place, await findBinaries(place.account, place.sharedDir));
    return place;
  }
  await cp(from.pgData, place.pgData, { recursive: true, preserveTimestamps: true });
  await owned(place);
  return place;
}

/** Copies are root's at first. */
async function owned({ account, pgData }: Place): Promise<void> {
  if (account === undefined) return;
  const chowning = spawn('chown', ['-R', `${account.uid}:${account.gid}`, pgData]);
  await once(chowning, 'exit');
  await chmod(pgData, 0o700);
}

interface StartedServer extends ReplicatedServer {
  stop(): Promise<void>;
}

async function startServer(
  scope: Scope,
  place: Place,
  parameters: Readonly<Record<string, string>>,
): Promise<StartedServer> {
  const { postgres } = await findBinaries(place.account, place.sharedDir);
  const port = parameters['port'] === undefined ? await freePort() : Number(parameters['port']);
  const all = { ...parameters, port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const spawned = async (): Promise<ChildProcess> => {
    const log = await open(place.logFile, 'a');
    const words = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const started = spawn(postgres, ['-D', place.pgData, ...words], {
      ...runAs(place),
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    return started;
  };
  let child = await spawned();
  const connection = { host: '127.0.0.1', port, user: USER, database: DATABASE };
  let paused: readonly number[] = [];
  const server: StartedServer = {
    connection,
    sql: (text) => asked(connection, text),
    async pause() {
      paused = await processes(child);
      signal(paused, 'SIGSTOP');
    },
    resume: () => signal(paused, 'SIGCONT'),
    async kill() {
      const killed = await processes(child);
      signal(killed, 'SIGKILL');
      await ended(child);
      await until('the end of all of its processes', () => !killed.some(isThere)); // they hold its memory
    },
    async startAgain() {
      child = await spawned();
      await answers();
    },
    async stop() {
      child.kill('SIGINT');
      await ended(child);
    },
  };
  const answers = () => until('a server that answers', () => server.sql('select 1'));
  scope.teardown(() => server.kill());
  await answers();
  return server;
}

async function processes(child: ChildProcess): Promise<readonly number[]> {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null ? [] : processesOf(child.pid);
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** A database that is not made yet is asked in `postgres`. */
async function asked<Row>({ host, port, user, database }: TestConnection, text: string): Promise<readonly Row[]> {
  const client = new Client({
    host,
    port,
    user,
    database: text.includes('create database') || text === 'select 1' ? 'postgres' : database,
    connectionTimeoutMillis: scaled(5_000),
  });
  client.on('error', () => {}); // killed meanwhile
  await client.connect();
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end().catch(() => {});
  }
}
