/** An open, migrated database for a test. */
import type { ExecutionContext } from 'ava';
import {
  DATABASE_LIMITS,
  openDatabase,
  type Database,
  type DatabaseLimits,
} from '../../../persistence/connections/database.ts';
import { createReads } from '../../../persistence/reads/reads.ts';
import { createVault, type Keyring } from '../../../persistence/vault.ts';
import type { Reads } from '../../../api/ports.ts';
import { scaled } from '../busy.ts';
import { createDatabase } from './database.ts';
import { silentLog } from '../log.ts';

export interface Opened extends Database {
  readonly vault: Keyring;
  readonly reads: Reads;
}

/** Domain of host names in tests. */
export const DOMAIN = 'edge.test';

/** Under which secrets of these tests are sealed. */
export const VAULT = createVault(Buffer.alloc(32, 7));

/** The limits of a database, as long as this machine takes for them now. */
export function scaledLimits(): DatabaseLimits {
  const limits = Object.entries(DATABASE_LIMITS).map(([name, ms]) => [name, scaled(ms as number)]);
  return Object.fromEntries(limits) as DatabaseLimits;
}

/** For tests in which somebody holds a lock, or a transaction open, until it was seen who waits for it, in ms. */
export const LONG_WAITS = {
  lockMs: 60_000,
  statementMs: 60_000,
  queryMs: 60_000,
  idleInTransactionMs: 60_000,
} as const satisfies Partial<DatabaseLimits>;

const { lockMs, statementMs, queryMs } = DATABASE_LIMITS;

/** As admins have them: for tests of what becomes of who waits too long. */
export const SHORT_WAITS: Partial<DatabaseLimits> = { lockMs, statementMs, queryMs };

/** Reads of these connections. */
export function readsOf(database: Pick<Database, 'orm' | 'pool'>): Reads {
  const ranges = { v4Ranges: ['100.64.0.0/10'], v4Prefix: 24 };
  return createReads({ ...database, vault: VAULT, domain: DOMAIN, ranges });
}

/** A database of the test's own, closed and dropped at its end. */
export async function openedDatabase(
  t: Pick<ExecutionContext, 'teardown'>,
  limits: Partial<DatabaseLimits> = {},
): Promise<Opened> {
  const connection = await createDatabase(t);
  const database = await openDatabase({
    connection,
    poolMax: 10,
    log: silentLog,
    limits: { ...scaledLimits(), ...limits },
  });
  t.teardown(() => database.close());
  return { ...database, vault: VAULT, reads: readsOf(database) };
}
