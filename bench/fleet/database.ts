/**
 * The PostgreSQL of a bench run: the admin's own embedded server (fsync on), one database a side, thrown away
 * afterwards.
 */
import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientConfig } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import { openDatabase } from '../../persistence/connections/database.ts';
import { startEmbeddedPostgres } from '../../persistence/embedded/launcher.ts';

/** Below the project's own data directory: ignored by git, on the disk that a real admin would use. */
export const BENCH_DIR = join(import.meta.dirname, '../../.data/bench');

const SILENT: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (fields, message) => {
    console.error(message, fields);
  },
};

/** Where a database is: a plain object, so that workers can be told. */
export type DatabasePlace = Required<Pick<ClientConfig, 'host' | 'port' | 'user' | 'database'>>;

/** A running server of this bench. */
export interface BenchServer {
  /** Process id of the postmaster: its tree's processor time is PostgreSQL's. */
  readonly pid: number;
  /** A new database with the schema of the product, triggers included. */
  create(name: string): Promise<DatabasePlace>;
  stop(): Promise<void>;
}

/** Starts a server on an empty directory. */
export async function startBenchServer(): Promise<BenchServer> {
  await mkdir(BENCH_DIR, { recursive: true });
  const dataDir = await mkdtemp(join(BENCH_DIR, 'run-'));
  // the account that runs PostgreSQL for root must get in, or the data are kept elsewhere and stay
  await chmod(dataDir, 0o755);
  const server = await startEmbeddedPostgres({ dataDir, log: SILENT });
  const pid = (await server.pid()) ?? 0;
  const abandon = (): void => {
    process.kill(pid, 'SIGQUIT'); // the bench was interrupted: nothing of this database is wanted
    rmSync(dataDir, { recursive: true, force: true });
  };
  process.once('exit', abandon);
  return {
    pid,
    create: async (name) => {
      await withClient(server.connection, (client) => client.query(`create database "${name}"`));
      const place = { ...server.connection, database: name };
      const database = await openDatabase({ connection: place, poolMax: 3, log: SILENT });
      await database.migrate();
      await database.close();
      return place;
    },
    stop: async () => {
      process.off('exit', abandon);
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** As DATABASE_URL wants it: the directory of the Unix socket is the host. */
export function databaseUrl(place: DatabasePlace): string {
  return `postgresql://${place.user}@${encodeURIComponent(place.host)}:${place.port}/${place.database}`;
}

/** A connection for the length of `work`. */
export async function withClient<T>(place: DatabasePlace, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(place);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
