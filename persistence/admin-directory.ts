/** Admins that share this database: who this one is, who else is there, and for how many nodes they have room. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { raw } from '@mikro-orm/postgresql';
import { v7 } from 'uuid';
import type { Clock } from '../actors/ports.ts';
import { asUnavailable } from './availability.ts';
import { erlangNodeName } from './admin-names.ts';
import { Admin, AdminIdentity } from './entities/admin.ts';
import { ADMIN_SILENCE_MS_MAX } from './leases.ts';
import type { AdminDirectory } from '../api/ports.ts';

/** What an admin says of itself. Its name is its own among its peers, and keeps its id over restarts. */
export interface AdminSelf {
  readonly name: string;
  readonly url: string;
  readonly adminClusterName: string;
  readonly version: string;
  readonly maxWireguardPeers: number;
}

/** The admins that use this database have another ADMIN_CLUSTER_NAME. */
export class AnotherAdminGroup extends Error {
  override readonly name = 'AnotherAdminGroup';
}

/** The AdminDirectory port, and how this admin comes to be in it. */
export interface AdminRegistry extends AdminDirectory {
  /**
   * Throws AnotherAdminGroup while admins of another ADMIN_CLUSTER_NAME use this database: they would be one group
   * under two names.
   */
  checkGroup(): Promise<void>;
  /**
   * Writes that this admin is there. Returns its id. Called at boot, and then more often than ADMIN_SILENCE_MS_MAX, as
   * renewing leases does.
   */
  checkIn(): Promise<string>;
  /** Removes other admins that have not checked in for so long by the database's clock. Answers how many. */
  forgetGone(afterMs: number): Promise<number>;
  /** Removes this admin from the list, at shutdown. */
  checkOut(): Promise<void>;
}

/** The AdminDirectory port, with the means to appear in it. */
export function createAdminRegistry(orm: MikroORM, self: AdminSelf, clock: Pick<Clock, 'nowMs'>): AdminRegistry {
  const startedAt = new Date(clock.nowMs());
  let id: string | null = null; // the name keeps its id over restarts: it is known after the first check-in
  const checkIn = (): Promise<string> =>
    guarded(async () => {
      id ??= await identityOf(orm, self.name);
      const row = await orm.em
        .fork()
        .upsert(
          Admin,
          { id, ...self, startedAt, lastCheckedIn: raw('now()') },
          { onConflictFields: ['name'], onConflictExcludeFields: ['id'] },
        );
      // Another id is there where an older release ran under this name meanwhile: that one is known to others now.
      if (row.id !== id) await orm.em.fork().nativeUpdate(AdminIdentity, { name: self.name }, { id: row.id });
      id = row.id;
      return row.id;
    });
  return {
    checkIn,
    async checkGroup() {
      const other = await guarded(() =>
        orm.em.fork().findOne(Admin, {
          name: { $ne: self.name },
          adminClusterName: { $ne: self.adminClusterName },
          lastCheckedIn: { $gt: raw(`now() - interval '${ADMIN_SILENCE_MS_MAX} milliseconds'`) },
        }),
      );
      if (other !== null)
        throw new AnotherAdminGroup(
          `ADMIN_CLUSTER_NAME is "${self.adminClusterName}": it should be "${other.adminClusterName}", as that of the admin ${other.name}, which uses this database now. To change it, stop all admins first.`,
        );
    },
    forgetGone: (afterMs) =>
      guarded(() =>
        orm.em.fork().nativeDelete(Admin, {
          name: { $ne: self.name },
          lastCheckedIn: { $lt: raw("clock_timestamp() - ? * interval '1 ms'", [afterMs]) },
        }),
      ),
    checkOut: () =>
      guarded(async () => {
        await orm.em.fork().nativeDelete(Admin, { name: self.name });
      }),
    me: () =>
      guarded(async () => {
        const em = orm.em.fork();
        const peers = await em.count(Admin, {
          name: { $ne: self.name },
          lastCheckedIn: { $gt: raw(`now() - interval '${ADMIN_SILENCE_MS_MAX} milliseconds'`) },
        });
        const row = await em.findOne(Admin, { name: self.name });
        const own = row?.id ?? (await checkIn());
        return {
          id: own,
          name: self.name,
          version: self.version,
          role: 'admin' as const,
          admin_cluster_name: self.adminClusterName,
          erlang_node_name: erlangNodeName(self),
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

/** The one that was stored first for this name; a new name gets a new one. */
async function identityOf(orm: MikroORM, name: string): Promise<string> {
  const em = orm.em.fork();
  await em.execute(
    'insert into admin_identity (name, id, inserted_at) values (?, ?, clock_timestamp()) on conflict do nothing',
    [name, v7()],
  );
  return (await em.findOneOrFail(AdminIdentity, { name })).id;
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asUnavailable(error, 'looking up admins');
  }
}
