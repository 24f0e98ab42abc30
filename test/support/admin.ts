/** A whole admin in the test's own process, on a real database and a free port. */
import { startAdmin, type RunningAdmin } from '../../main.ts';
import { readAdminConfig, type AdminConfig } from '../../settings/admin.ts';
import { createDatabase } from './database/database.ts';
import { recordingLog } from './log.ts';
import { urlOf, type TestConnection } from './database/server.ts';

/** Keys of a test admin, one a scope. */
export const ADMIN_KEYS = {
  MASTER_KEY: 'master-key-of-the-tests-1234',
  API_KEY: 'api-key-of-the-tests-12345678',
  METRICS_KEY: 'metrics-key-of-the-tests-1234',
  MCP_KEY: 'mcp-key-of-the-tests-12345678',
  PROXY_KEY: 'proxy-key-of-the-tests-123456',
} as const;

/** Under which a test admin seals its secrets. */
export const ENCRYPTION_KEY = Buffer.from('encryption-key-of-32-bytes-tests').toString('base64');

/** A running admin, what it logged, and where its rows are. */
export interface TestAdmin extends RunningAdmin {
  readonly log: ReturnType<typeof recordingLog>;
  readonly database: TestConnection;
}

/**
 * Starts an admin that ends with the test, on a database of its own. `env` adds settings or replaces those of the
 * tests.
 */
export async function startTestAdmin(
  t: { teardown(task: () => Promise<void>): void },
  env: Readonly<Record<string, string>> = {},
): Promise<TestAdmin> {
  const database = await createDatabase(t);
  const log = recordingLog();
  const admin = await startAdmin(adminConfig(urlOf(database), env), log, new AbortController().signal);
  t.teardown(() => admin.stop());
  return { ...admin, log, database };
}

/** The settings of such an admin, on this database. */
export function adminConfig(databaseUrl: string, env: Readonly<Record<string, string>> = {}): AdminConfig {
  const read = readAdminConfig({
    ...ADMIN_KEYS,
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: '0',
    ADMIN_PROXY_HOST: '127.0.0.1',
    ADMIN_HTTP_PROXY_PORT: '0',
    ADMIN_SOCKS5_PROXY_PORT: '0',
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
    ADMIN_NAME: 'test',
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY,
    ...env,
  });
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.config;
}
