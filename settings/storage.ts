/** Settings of the database, its key, and how long things are kept. */
import { z } from 'zod';
import { readDatabaseUrl } from './database-url.ts';
import { readSettings, type Settings } from './environment.ts';
import { durationMs, integer, secret, text } from './fields.ts';
import { isWeakKey } from './weak-keys.ts';

/** Former keys at once: a rotation has one, and one that was begun before the last was over has two. */
const FORMER_KEYS_MAX = 4;

/**
 * Fewest different bytes of a key that was made at random: 32 digits have fewer than 8 once in 10^3, 32 letters never.
 */
const DIFFERENT_BYTES_MIN = 8;

/** Database and keeping. */
export const STORAGE_SETTINGS = {
  DATABASE_URL: secret()
    .refine((value) => readDatabaseUrl(value) !== null)
    .meta({
      expected:
        'a URL like postgresql://user:password@host:5432/database; several hosts as host1:5432,host2:5432, with target_session_attrs=read-write',
    })
    .optional()
    .meta({
      defaultText: 'an embedded PostgreSQL',
      description: 'PostgreSQL to use; the database has the encoding UTF8.',
    }),
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
  ENCRYPTION_KEYS_OLD: secret()
    .transform((value) => value.split(',').map(keyBytes))
    .pipe(z.array(z.instanceof(Uint8Array)).max(FORMER_KEYS_MAX))
    .meta({ expected: `at most ${FORMER_KEYS_MAX} such keys, comma-separated` })
    .optional()
    .meta({
      defaultText: 'none',
      description:
        'Former values of ENCRYPTION_KEY, while it is rotated: what is sealed under them is opened, and sealed anew under ENCRYPTION_KEY once every admin has that.',
    }),
  EXECUTION_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(30)
    .describe('Days for which finished executions and completed self-update requests are kept.'),
  EVENT_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(7)
    .describe('Days for which events are kept, and up to a seventh longer.'),
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
export function storageProblems({
  DATABASE_URL,
  ENCRYPTION_KEY,
  ENCRYPTION_KEYS_OLD = [],
}: Settings<typeof STORAGE_SETTINGS>): readonly string[] {
  if (ENCRYPTION_KEY === undefined) {
    if (DATABASE_URL !== undefined)
      return [
        'ENCRYPTION_KEY is not set: with DATABASE_URL it should be 32 bytes in base64 or hex, the same for all admins, as made by: openssl rand -base64 32',
      ];
    return ENCRYPTION_KEYS_OLD.length === 0
      ? []
      : [
          'ENCRYPTION_KEYS_OLD is set, and ENCRYPTION_KEY is not: the key in DATA_DIR is rotated by edge-admin rotate-encryption-key',
        ];
  }
  const all = [ENCRYPTION_KEY, ...ENCRYPTION_KEYS_OLD].map((key) => Buffer.from(key).toString('hex'));
  return new Set(all).size === all.length
    ? []
    : ['ENCRYPTION_KEYS_OLD holds ENCRYPTION_KEY itself, or a key twice: it should be former keys, each once'];
}

/** Whether others guess this key of 32 bytes: typed characters, a row, or a short piece again and again. */
export function isWeakEncryptionKey(key: Uint8Array): boolean {
  const bytes = Buffer.from(key);
  const steps = new Set(bytes.subarray(1).map((byte, at) => byte - (bytes[at] ?? 0)));
  return (
    new Set(bytes).size < DIFFERENT_BYTES_MIN ||
    steps.size === 1 ||
    [bytes.toString('hex'), bytes.toString('base64')].some(isWeakKey) ||
    (bytes.every((byte) => byte >= 0x20 && byte < 0x7f) && isWeakKey(bytes.toString('latin1')))
  );
}

/** 32 bytes out of base64 (also the URL form, padded or not) or hex; undefined when it is neither. */
function keyBytes(value: string): Uint8Array | undefined {
  const trimmed = value.trim();
  if (/^[0-9a-f]{64}$/iu.test(trimmed)) return Buffer.from(trimmed, 'hex');
  return /^[\w+/-]{43}=?$/u.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined;
}
