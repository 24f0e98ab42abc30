/**
 * A PostgreSQL that can be lost with all that it held, and replaced by an empty one beneath those who are connected.
 */
import { execFile } from 'node:child_process';
import { symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programFile } from '../run/programs.ts';
import type { Scope } from '../scope.ts';
import { startTestServer, type TestConnection, type TestServer } from './server.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Its place stays: a link to the directory of the socket. */
export interface MovableServer {
  readonly connection: TestConnection;
  /** A directory of its own, for backups. */
  readonly directory: string;
  pid(): Promise<number | undefined>;
  /** Counts so many transactions, so that a server that begins later is far below. */
  lead(transactions: number): string;
  /**
   * Restores a backup into an empty server, and puts that in the place of the one of before, which is gone with all
   * that it held.
   * Nobody sees it before it is whole, as docs/backup.md wants it. `between`: neither is there.
   */
  restore(backup: string, encryptionKey: string, between?: () => void): Promise<void>;
  /** `edge-admin backup` of the server of now into this file. */
  backup(file: string, encryptionKey: string): Promise<void>;
}

/** Starts one that ends with the scope. */
export async function startMovableServer(scope: Scope): Promise<MovableServer> {
  const directory = temporaryDirectory(scope);
  const host = join(directory, 'socket');
  let server: TestServer = await startTestServer();
  scope.teardown(() => server.stop());
  await symlink(server.connection.host, host);
  const edgeAdmin = (args: readonly string[], at: string, encryptionKey: string) =>
    promisify(execFile)(process.execPath, [programFile('edge-admin'), ...args], {
      env: {
        DATABASE_URL: `postgresql://edge@localhost/edge?host=${encodeURIComponent(at)}`,
        ENCRYPTION_KEY: encryptionKey,
        ...inherited(),
      },
    });
  return {
    connection: { ...server.connection, host },
    directory,
    pid: () => server.pid(),
    lead: (transactions) =>
      `do $$ begin for i in 1..${transactions} loop perform pg_current_xact_id(); commit; end loop; end $$`,
    async backup(file, encryptionKey) {
      await edgeAdmin(['backup', file], host, encryptionKey);
    },
    async restore(backup, encryptionKey, between) {
      const [former, next] = [server, await startTestServer()];
      server = next;
      try {
        await edgeAdmin(['restore', backup], next.connection.host, encryptionKey);
      } finally {
        await former.stop();
      }
      between?.();
      await unlink(host);
      await symlink(next.connection.host, host);
    },
  };
}

/** What a program needs to be found, and code that was compiled before. */
function inherited(): Record<string, string> {
  return Object.fromEntries(
    ['PATH', 'NODE_COMPILE_CACHE'].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  );
}
