/** Settings of the database, its key, and how long things are kept. */
import { z } from 'zod';
import { readDatabaseUrl } from './database-url.ts';
import { readSettings, type Settings } from './environment.ts';
import { durationMs, integer, secret, text } from './fields.ts';

/** Database and keeping. */
export const STORAGE_SETTINGS = {
  DATABASE_URL: secret()
    .refine((value) => readDatabaseUrl(value) !== null)
    .meta({
      expected:
        'a URL like postgresql://user:password@host:5432/database; several hosts as host1:5432,host2:5432, with target_session_attrs=read-write',
    })
    .optional()
    .meta({ defaultText: 'an embedded PostgreSQL', description: 'PostgreSQL to use.' }),
  DATABASE_POOL_MAX: integer({ min: 2, max: 200 })
    .default(12)
    .describe('Most connections to the database. From 8, four of them are for writes and leases alone.'),
  DATABASE_WAIT_MS: durationMs({ min: 0, max: 86_400_000 })
    .default(86_400_000)
    .describe(
      'How long a start waits for a database that is away or still starting; 0 tries once. SIGTERM ends the wait at once.',
    ),
  DATA_DIR: text().default('.data').describe('Directory of the embedded PostgreSQL and the generated key.'),
  ENCRYPTION_KEY: secret()
    .transform(keyBytes)
    .pipe(z.instanceof(Uint8Array))
    .meta({ expected: '32 bytes in base64 or hex, as made by: openssl rand -base64 32' })
    .optional()
    .meta({
      defaultText: 'made once, in DATA_DIR',
      description: 'Key under which secrets are stored. Required with DATABASE_URL.',
    }),
  EXECUTION_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(30)
    .describe('Days for which finished executions are kept.'),
  EVENT_RETENTION_DAYS: integer({ min: 1, max: 3_650 }).default(7).describe('Days for which events are kept.'),
};

/** Where the database is and under which key, for commands that do nothing else: no other setting has to be there. */
export function readStorageConfig(
  env: Readonly<Record<string, string | undefined>>,
):
  | { readonly ok: true; readonly config: Settings<typeof STORAGE_SETTINGS> }
  | { readonly ok: false; readonly problems: readonly string[] } {
  const read = readSettings(STORAGE_SETTINGS, env);
  return read.ok ? { ok: true, config: read.settings } : read;
}

/** What no setting of the database alone shows to be wrong. */
export function storageProblems(read: Settings<typeof STORAGE_SETTINGS>): readonly string[] {
  return read.DATABASE_URL === undefined || read.ENCRYPTION_KEY !== undefined
    ? []
    : [
        'ENCRYPTION_KEY is not set: with DATABASE_URL it should be 32 bytes in base64 or hex, the same for all admins, as made by: openssl rand -base64 32',
      ];
}

/** 32 bytes out of base64 (also the URL form, padded or not) or hex; undefined when it is neither. */
function keyBytes(value: string): Uint8Array | undefined {
  const trimmed = value.trim();
  if (/^[0-9a-f]{64}$/iu.test(trimmed)) return Buffer.from(trimmed, 'hex');
  return /^[\w+/-]{43}=?$/u.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined;
}
