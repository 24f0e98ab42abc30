/**
 * A PostgreSQL with a synchronous standby that takes its place when it is lost: those who are connected find it where
 * the one of before was. A server that dies otherwise starts again by itself.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdtemp, open, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findBinaries } from '../../../persistence/embedded/binaries.ts';
import { ensureInitialised, runAs } from '../../../persistence/embedded/initialisation.ts';
import { preparePlace, SOCKET_PORT, type Place } from '../../../persistence/embedded/place.ts';
import type { Scope } from '../scope.ts';
import type { TestConnection } from './server.ts';
import { processesOf, signal } from './server-processes.ts';
import { promoted } from './replicated-servers.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';

const USER = 'edge';
const DATABASE = 'edge';

/** By this name a primary knows its standby. */
const FOLLOWER = 'follower';

/** As durable as the one that comes with the admin. */
const PARAMETERS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  port: String(SOCKET_PORT),
  wal_level: 'replica',
  max_wal_senders: '4',
  wal_sender_timeout: '5s',
  wal_keep_size: '256MB',
  max_connections: '250',
  jit: 'off',
};

/** One that may fail over. */
export interface ReplicatedMovableServer {
  readonly connection: TestConnection;
  /** A directory of its own. */
  readonly directory: string;
  pid(): Promise<number | undefined>;
  /**
   * Kills the primary and promotes its standby, which has all that was acknowledged and is where that one was when this
   * resolves; another standby follows it soon. Waits for a standby first.
   */
  readonly failOver: () => Promise<void>;
}

/** Starts both, which end with the scope. */
export async function startReplicatedMovableServer(scope: Scope): Promise<ReplicatedMovableServer> {
  const directory = temporaryDirectory(scope);
  const host = join(directory, 'socket');
  let primary = await startServer(scope, await newPlace(scope));
  await primary.sql(`create database ${DATABASE}`, 'postgres');
  await symlink(primary.place.socketDir, host);
  let standby = follow(scope, primary);
  await standby;
  return {
    connection: { host, port: SOCKET_PORT, user: USER, database: DATABASE },
    directory,
    pid: () => Promise.resolve(primary.pid()),
    failOver: async () => {
      const next = await standby;
      await primary.kill();
      await promoted(next);
      await unlink(host);
      await symlink(next.place.socketDir, host);
      primary = next;
      standby = follow(scope, next);
      standby.catch(() => {}); // whoever wants to fail over is told
    },
  };
}

interface Server {
  readonly place: Place;
  pid(): number | undefined;
  sql<Row extends object>(text: string, database?: string): Promise<readonly Row[]>;
  /** Kills all of its processes, and it does not come back. */
  kill(): Promise<void>;
}

async function newPlace(scope: Scope): Promise<Place> {
  const place = await emptyPlace(scope);
  await ensureInitialised(place, await findBinaries(place.account, place.sharedDir));
  await writeFile(join(place.pgData, 'pg_hba.conf'), 'local all all trust\nlocal replication all trust\n');
  return place;
}

async function emptyPlace(scope: Scope): Promise<Place> {
  const dir = await mkdtemp(join(tmpdir(), 'edge-test-pg-'));
  scope.teardown(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  return preparePlace(dir);
}

/** Copies a server that runs, has the copy follow it, and makes it wait for the copy from then on. */
async function follow(scope: Scope, primary: Server): Promise<Server> {
  const place = await emptyPlace(scope);
  await copied(primary, place);
  const conninfo = `host=${primary.place.socketDir} port=${SOCKET_PORT} user=${USER} application_name=${FOLLOWER}`;
  await appendFile(join(place.pgData, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  await writeFile(join(place.pgData, 'standby.signal'), '');
  if (place.account !== undefined)
    await promisify(execFile)('chown', ['-R', `${place.account.uid}:${place.account.gid}`, place.pgData]);
  const standby = await startServer(scope, place);
  const state = async (): Promise<string | undefined> =>
    (
      await primary.sql<{ sync_state: string }>(
        'select sync_state from pg_stat_replication where state = $$streaming$$',
      )
    )[0]?.sync_state;
  await until('a standby that follows', async () => (await state()) !== undefined);
  await primary.sql(`alter system set synchronous_standby_names = '${FOLLOWER}'`);
  await primary.sql('select pg_reload_conf()');
  await until('a synchronous standby', async () => (await state()) === 'sync');
  return standby;
}

/** By PostgreSQL's own way of copying a server that writes meanwhile. */
async function copied(from: Server, { pgData }: Place): Promise<void> {
  const client = await connected(from.place, DATABASE);
  try {
    await client.query("select pg_backup_start('standby', true)");
    await promisify(execFile)('cp', ['-a', from.place.pgData, pgData], { env: { ...process.env, LC_ALL: 'C' } }).catch(
      (error: Error & { readonly stderr?: string }) => {
        // Some files go while they are copied, which cp minds and PostgreSQL does not.
        const problems = (error.stderr ?? '').split('\n').filter(Boolean);
        if (problems.length === 0 || !problems.every((line) => line.endsWith('No such file or directory'))) throw error;
      },
    );
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    await writeFile(join(pgData, 'backup_label'), rows[0]?.labelfile ?? '');
    const socket = `.s.PGSQL.${SOCKET_PORT}`;
    for (const file of ['postmaster.pid', 'postmaster.opts', 'standby.signal', socket, `${socket}.lock`])
      await rm(join(pgData, file), { force: true });
  } finally {
    await client.end();
  }
}

async function startServer(scope: Scope, place: Place): Promise<Server> {
  const { postgres } = await findBinaries(place.account, place.sharedDir);
  const all = { ...PARAMETERS, unix_socket_directories: place.socketDir };
  const words = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = await open(place.logFile, 'a');
  scope.teardown(() => log.close());
  let isWanted = true;
  let child: ChildProcess;
  const start = (): void => {
    child = spawn(postgres, ['-D', place.pgData, ...words], { ...runAs(place), stdio: ['ignore', log.fd, log.fd] });
    child.once('exit', () => {
      if (isWanted) setTimeout(() => (isWanted ? start() : undefined), AGAIN_MS);
    });
  };
  start();
  const server: Server = {
    place,
    pid: () => (child.exitCode === null && child.signalCode === null ? child.pid : undefined),
    async sql<Row extends object>(text: string, database = DATABASE) {
      const client = await connected(place, database);
      try {
        return (await client.query<Row>(text)).rows;
      } finally {
        await client.end();
      }
    },
    async kill() {
      isWanted = false;
      const pid = server.pid();
      if (pid === undefined) return;
      const ended = once(child, 'exit');
      signal(await processesOf(pid), 'SIGKILL');
      await ended;
    },
  };
  scope.teardown(() => server.kill());
  await until('a server that answers', () => server.sql('select 1', 'postgres'));
  return server;
}

/** Wait before one that died is started again, in ms. */
const AGAIN_MS = 100;

async function connected({ socketDir }: Place, database: string): Promise<Client> {
  const client = new Client({
    host: socketDir,
    port: SOCKET_PORT,
    user: USER,
    database,
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => {}); // killed meanwhile
  await client.connect();
  return client;
}
