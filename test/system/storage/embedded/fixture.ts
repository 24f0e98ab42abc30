/** Embedded PostgreSQLs of tests, and what is asked of them. */
import { Client } from 'pg';
import { EmbeddedPostgresError } from '../../../../persistence/embedded/failure.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../../persistence/embedded/launcher.ts';
import { silentLog } from '../../../support/log.ts';
import type { Scope } from '../../../support/scope.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** A directory into which root's PostgreSQL gets, which runs as another user. */
export function directory(scope: Scope): string {
  return temporaryDirectory(scope, 0o755);
}

/** Starts one that is stopped with the scope, unless it was before. */
export async function start(scope: Scope, dataDir: string, log = silentLog): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log });
  scope.teardown(() => server.stop());
  return server;
}

/** Rows, over a connection of their own. */
export async function query(
  server: Pick<EmbeddedPostgres, 'connection'>,
  sql: string,
): Promise<Record<string, unknown>[]> {
  const client = new Client(server.connection);
  client.on('error', () => undefined); // a server that is killed says goodbye to everyone
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Why it does not start. */
export async function startFails(dataDir: string): Promise<EmbeddedPostgresError> {
  try {
    const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
    await server.stop();
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) return error;
    throw error;
  }
  throw new Error('it started');
}
