/** A real PostgreSQL for tests. Apart from `database.ts`, since `test/run.ts` is not run by ava. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../../persistence/embedded/launcher.ts';
import { silentLog } from '../log.ts';

/** Where a database is, for `openDatabase` and `pg`. The host is the directory of a Unix socket. */
export interface TestConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** As DATABASE_URL has it. */
export function urlOf({ user, database, host, port }: TestConnection, password?: string): string {
  const secret = password === undefined ? '' : `:${password}`;
  return `postgresql://${user}${secret}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

/** A server for tests, on a directory of its own that goes with it. */
export interface TestServer {
  readonly connection: TestConnection;
  pid(): Promise<number | undefined>;
  stop(): Promise<void>;
}

/** Variable by which `test/run.ts` tells test files of the server that they share; holds a TestConnection as JSON. */
export const SERVER_VARIABLE = 'EDGE_TEST_POSTGRES';

/** Starts a PostgreSQL with empty data. As durable as in production, so that tests of durability mean something. */
export async function startTestServer(): Promise<TestServer> {
  const dir = await mkdtemp(join(tmpdir(), 'edge-test-pg-'));
  await chmod(dir, 0o755); // run by root, PostgreSQL runs as another user, who must get in
  const server = await startEmbeddedPostgres({ dataDir: dir, log: silentLog });
  return {
    connection: server.connection,
    pid: () => server.pid(),
    stop: async () => {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
