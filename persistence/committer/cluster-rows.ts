/** Clusters and their enrolment keys as rows. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ColdWrite } from '../../actors/writes.ts';
import { Cluster } from '../entities/cluster.ts';
import { FIRST_EPOCH, LEASE_MS } from '../leases.ts';
import { EnrollmentKey } from '../entities/enrollment-key.ts';
import { GuardRefused, NOTHING_TO_TELL } from './written.ts';
import type { Written } from './written.ts';

type ClusterWrite = Extract<ColdWrite, { kind: `cluster-${string}` | `key-${string}` }>;

/** Writes one of them; a row that is gone or may not be changed is a GuardRefused. */
export async function writeCluster(em: EntityManager, write: ClusterWrite, adminId: string): Promise<Written> {
  switch (write.kind) {
    case 'cluster-created': {
      const at = new Date(write.atMs);
      await em.insert(Cluster, {
        id: write.id,
        name: write.name,
        ipv4Range: write.ipv4Range,
        ipv6Range: write.ipv6Range,
        nodeLimit: write.nodeLimit,
        nodeCount: 0,
        insertedAt: at,
        updatedAt: at,
      });
      // Its creator owns it from the first instant, so that the next request finds an owner. The lease is by the
      // database's clock (O2).
      await em.execute(
        "insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) values (?, ?, ?, clock_timestamp() + ? * interval '1 ms')",
        [write.id, adminId, FIRST_EPOCH, LEASE_MS],
      );
      return { notices: [{ type: 'cluster-created', cluster: write.id, epoch: FIRST_EPOCH }] };
    }
    case 'cluster-limited': {
      const found = await em.nativeUpdate(
        Cluster,
        write.nodeLimit === null ? { id: write.cluster } : { id: write.cluster, nodeCount: { $lte: write.nodeLimit } },
        { nodeLimit: write.nodeLimit, updatedAt: new Date(write.atMs) },
      );
      if (found === 0)
        throw new GuardRefused({ code: 'conflict', message: 'The cluster has more nodes than this limit.' });
      return NOTHING_TO_TELL;
    }
    case 'cluster-deleted': {
      const found = await em.nativeDelete(Cluster, { id: write.cluster, nodeCount: 0 });
      if (found === 0)
        throw new GuardRefused({
          code: 'conflict',
          message: 'The cluster still has nodes. Delete or move them first.',
        });
      return NOTHING_TO_TELL;
    }
    case 'key-created': {
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
        insertedAt: at,
        updatedAt: at,
      });
      return NOTHING_TO_TELL;
    }
    case 'key-updated': {
      const { name, expiredAtMs, usesRemaining } = write;
      const fields = {
        ...(name === undefined ? {} : { name }),
        ...(expiredAtMs === undefined ? {} : { expiredAt: dateOf(expiredAtMs) }),
        ...(usesRemaining === undefined ? {} : { usesRemaining }),
      };
      const found = await em.nativeUpdate(
        EnrollmentKey,
        { id: write.id },
        { ...fields, updatedAt: new Date(write.atMs) },
      );
      if (found === 0) throw gone();
      return NOTHING_TO_TELL;
    }
    case 'key-deleted': {
      if ((await em.nativeDelete(EnrollmentKey, { id: write.id })) === 0) throw gone();
      return NOTHING_TO_TELL;
    }
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

/**
 * Public keys that exist at once. Those that expired or let their node in are deleted soon after:
 * sweeps/public-keys.ts.
 */
export const PUBLIC_KEYS_MAX = 1_000;

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

function gone(): GuardRefused {
  return new GuardRefused({ code: 'not_found', message: 'Resource not found' });
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
