/** Admins that share this database: who this one is, who else is there, and for how many nodes they have room. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { raw } from '@mikro-orm/postgresql';
import { hostname } from 'node:os';
import { v7 } from 'uuid';
import type { AdminDirectory, Clock } from '../actors/kit/ports.ts';
import { asUnavailable } from './availability.ts';
import { Admin } from './entities/admin.ts';
import { ADMIN_SILENCE_MS_MAX } from './leases.ts';

/** What an admin says of itself. Its name is its own among its peers, and keeps its id over restarts. */
export interface AdminSelf {
  readonly name: string;
  readonly url: string;
  readonly adminClusterName: string;
  readonly version: string;
  readonly maxWireguardPeers: number;
}

/** The AdminDirectory port, and how this admin comes to be in it. */
export interface AdminRegistry extends AdminDirectory {
  /** Writes that this admin is there. Returns its id. Called at boot, and then more often than ADMIN_SILENCE_MS_MAX, as renewing leases does. */
  checkIn(): Promise<string>;
  /** Removes this admin from the list, at shutdown. */
  checkOut(): Promise<void>;
}

/** The AdminDirectory port, with the means to appear in it. */
export function createAdminRegistry(orm: MikroORM, self: AdminSelf, clock: Pick<Clock, 'nowMs'>): AdminRegistry {
  const startedAt = new Date(clock.nowMs());
  let id = v7(); // the one in force is known after the first check-in: the name keeps its id over restarts
  const checkIn = (): Promise<string> => guarded(async () => {
    const row = await orm.em.fork().upsert(Admin, { id, ...self, startedAt, lastCheckedIn: raw('now()') }, { onConflictFields: ['name'], onConflictExcludeFields: ['id'] });
    id = row.id;
    return id;
  });
  return {
    checkIn,
    checkOut: () => guarded(async () => { await orm.em.fork().nativeDelete(Admin, { name: self.name }); }),
    me: () => guarded(async () => {
      const em = orm.em.fork();
      const peers = await em.count(Admin, { name: { $ne: self.name }, lastCheckedIn: { $gt: raw(`now() - interval '${ADMIN_SILENCE_MS_MAX} milliseconds'`) } });
      const row = await em.findOne(Admin, { name: self.name });
      const own = row?.id ?? await checkIn();
      return {
        id: own,
        name: self.name,
        version: self.version,
        role: 'admin' as const,
        admin_cluster_name: self.adminClusterName,
        erlang_node_name: `${self.name}@${hostname()}`,
        vpn_host_id: own, // its gateway is known by it
        vpn_hostname: null,
        max_wireguard_peers: self.maxWireguardPeers,
        admin_peer_count: peers,
        edge_node_capacity: Math.max(0, self.maxWireguardPeers - peers),
        last_computed_at: new Date(clock.nowMs()).toISOString(),
      };
    }),
  };
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asUnavailable(error, 'looking up admins');
  }
}
