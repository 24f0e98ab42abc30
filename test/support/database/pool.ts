/** Connections of a test to a database that is dropped at its end. */
import { Pool, type PoolConfig } from 'pg';
import type { Scope } from '../scope.ts';

/**
 * Connections that end with the scope. One that is lost rejects what is asked by it, and nothing else: the end of a
 * pool does not wait for the server's, which may be dropping the database by then, and a killed server is dialled
 * again.
 */
export function openPool(scope: Scope, config: PoolConfig): Pool {
  const pool = new Pool(config);
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
  scope.teardown(() => pool.end());
  return pool;
}
