/** Enrolment keys as rows. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ColdWrite } from '../../actors/writes.ts';
import { EnrollmentKey } from '../entities/enrollment-key.ts';
import { GuardRefused, NOTHING_TO_TELL } from './written.ts';
import type { Written } from './written.ts';

type KeyWrite = Extract<ColdWrite, { kind: `key-${string}` }>;
type Creation = Extract<KeyWrite, { kind: 'key-created' }>;
type Update = Extract<KeyWrite, { kind: 'key-updated' }>;

/**
 * Public keys that exist at once. Those that expired or let their node in are deleted soon after:
 * sweeps/pruned.ts.
 */
export const PUBLIC_KEYS_MAX = 1_000;

/** Writes one of them; a row that is gone is a GuardRefused, and so is one public key too many. */
export function writeEnrollmentKey(em: EntityManager, write: KeyWrite): Promise<Written> {
  switch (write.kind) {
    case 'key-created':
      return create(em, write);
    case 'key-updated':
      return update(em, write);
    case 'key-deleted':
      return remove(em, write.id);
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

async function create(em: EntityManager, write: Creation): Promise<Written> {
  const at = new Date(write.atMs);
  if (write.isPublic === true) await checkPublicKeys(em);
  await em.insert(EnrollmentKey, {
    id: write.id,
    cluster: write.cluster,
    name: write.name,
    nonceHash: write.nonceHash,
    sealedKey: write.sealedKey,
    expiredAt: dateOf(write.expiredAtMs),
    usesRemaining: write.usesRemaining,
    isPublic: write.isPublic === true,
    lastUsedAt: null,
    labels: write.labels,
    insertedAt: at,
    updatedAt: at,
  });
  return NOTHING_TO_TELL;
}

async function update(
  em: EntityManager,
  { id, name, expiredAtMs, usesRemaining, labels, atMs }: Update,
): Promise<Written> {
  const fields = {
    ...(name === undefined ? {} : { name }),
    ...(expiredAtMs === undefined ? {} : { expiredAt: dateOf(expiredAtMs) }),
    ...(usesRemaining === undefined ? {} : { usesRemaining }),
    ...(labels === undefined ? {} : { labels }),
  };
  return found(await em.nativeUpdate(EnrollmentKey, { id }, { ...fields, updatedAt: new Date(atMs) }));
}

async function remove(em: EntityManager, id: string): Promise<Written> {
  return found(await em.nativeDelete(EnrollmentKey, { id }));
}

async function checkPublicKeys(em: EntityManager): Promise<void> {
  const [counted] = await em.execute<{ count: number }[]>(
    'select count(*)::int as count from (select from enrollment_key where is_public limit ?) as existing',
    [PUBLIC_KEYS_MAX],
  );
  if ((counted?.count ?? 0) >= PUBLIC_KEYS_MAX)
    throw new GuardRefused({
      code: 'rate_limited',
      message: 'Too many public enrollment keys wait to be used. Try again later.',
      retryAfterSeconds: 60,
    });
}

function found(count: number): Written {
  if (count === 0) throw new GuardRefused({ code: 'not_found', message: 'Resource not found' });
  return NOTHING_TO_TELL;
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
