/** Clusters as rows. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ColdWrite } from '../../actors/writes.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { Cluster } from '../entities/cluster.ts';
import { FIRST_EPOCH, LEASE_MS } from '../ownership/leases.ts';
import { ownChannel } from '../admins/own-channel.ts';
import { ownerOfCreated } from './capacity.ts';
import { GuardRefused, NOTHING_TO_TELL } from './written.ts';
import type { Written } from './written.ts';

type ClusterWrite = Extract<ColdWrite, { kind: `cluster-${string}` }>;
type Creation = Extract<ClusterWrite, { kind: 'cluster-created' }>;
type Limit = Extract<ClusterWrite, { kind: 'cluster-limited' }>;

/** Writes one of them; one that may not be changed is a GuardRefused. */
export function writeCluster(em: EntityManager, write: ClusterWrite, adminId: string): Promise<Written> {
  switch (write.kind) {
    case 'cluster-created':
      return create(em, write, adminId);
    case 'cluster-limited':
      return limit(em, write);
    case 'cluster-deleted':
      return remove(em, write.cluster);
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

/**
 * Its creator owns it from the first instant, so that the next request finds an owner; one that has no room for nodes,
 * or is drained, gives it to an admin that can take it. The lease is by the database's clock (O2).
 */
async function create(em: EntityManager, write: Creation, adminId: string): Promise<Written> {
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
  const owner = await ownerOfCreated(em, adminId);
  await em.execute(
    "insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) values (?, ?, ?, clock_timestamp() + ? * interval '1 ms')",
    [write.id, owner, FIRST_EPOCH, owner === null ? 0 : LEASE_MS],
  );
  if (owner !== null && owner !== adminId)
    await em.execute('select pg_notify(?, ?)', [ownChannel(owner), `owned ${write.id}:${FIRST_EPOCH}`]);
  const epoch = owner === adminId ? FIRST_EPOCH : null;
  return { notices: [{ type: 'cluster-created', cluster: write.id, epoch }] };
}

async function limit(em: EntityManager, write: Limit): Promise<Written> {
  const found = await em.nativeUpdate(
    Cluster,
    write.nodeLimit === null ? { id: write.cluster } : { id: write.cluster, nodeCount: { $lte: write.nodeLimit } },
    { nodeLimit: write.nodeLimit, updatedAt: new Date(write.atMs) },
  );
  if (found === 0) throw new GuardRefused({ code: 'conflict', message: 'The cluster has more nodes than this limit.' });
  return NOTHING_TO_TELL;
}

async function remove(em: EntityManager, cluster: ClusterId): Promise<Written> {
  const found = await em.nativeDelete(Cluster, { id: cluster, nodeCount: 0 });
  if (found === 0)
    throw new GuardRefused({ code: 'conflict', message: 'The cluster still has nodes. Delete or move them first.' });
  return NOTHING_TO_TELL;
}
