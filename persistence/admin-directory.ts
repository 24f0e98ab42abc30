/** Admins that share this database: who this one is, who else is there, and for how many nodes they have room. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { raw } from '@mikro-orm/postgresql';
import { v4, v7 } from 'uuid';
import { edgeCapacity } from '../actors/edge-capacity.ts';
import type { Clock } from '../actors/ports.ts';
import type { AdminResource } from '../actors/resources/admin.ts';
import { asUnavailable } from './availability.ts';
import { erlangNodeName } from './admin-names.ts';
import { Admin, AdminIdentity } from './entities/admin.ts';
import { ADMIN_SILENCE_MS_MAX } from './leases.ts';
import type { AdminDirectory } from '../api/ports.ts';

/** What an admin says of itself. Its name is its own among its peers, and keeps its id over restarts. */
export interface AdminSelf {
  readonly name: string;
  /** Asked anew at each check-in: they may become known only once it listens. Empty: not known yet. */
  readonly urls: { own(): string; peer(): string };
  readonly adminClusterName: string;
  readonly version: string;
  readonly maxWireguardPeers: number;
  /** Of what it says to other admins. */
  readonly linkVersion: number;
}

/** The admins that use this database have another ADMIN_CLUSTER_NAME. */
export class AnotherAdminGroup extends Error {
  override readonly name = 'AnotherAdminGroup';
}

/** What rows tell of this admin. */
type OwnResource = Omit<AdminResource, 'proxies'>;

/** The AdminDirectory port, and how this admin comes to be in it. */
export class AdminRegistry implements AdminDirectory {
  /** Of this process. */
  readonly instanceId = v4();
  readonly #orm: MikroORM;
  readonly #self: AdminSelf;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #startedAt: Date;
  /** The name keeps its id over restarts: it is known after the first check-in. */
  #id: string | null = null;

  constructor(orm: MikroORM, self: AdminSelf, clock: Pick<Clock, 'nowMs'>) {
    this.#orm = orm;
    this.#self = self;
    this.#clock = clock;
    this.#startedAt = new Date(clock.nowMs());
  }

  /**
   * Throws AnotherAdminGroup while admins of another ADMIN_CLUSTER_NAME use this database: they would be one group
   * under two names.
   */
  async checkGroup(): Promise<void> {
    const { name, adminClusterName } = this.#self;
    const other = await guarded(() =>
      this.#orm.em.fork().findOne(Admin, {
        name: { $ne: name },
        adminClusterName: { $ne: adminClusterName },
        lastCheckedIn: lately(),
      }),
    );
    if (other !== null)
      throw new AnotherAdminGroup(
        `ADMIN_CLUSTER_NAME is "${adminClusterName}": it should be "${other.adminClusterName}", as that of the admin ${other.name}, which uses this database now. To change it, stop all admins first.`,
      );
  }

  /**
   * Writes that this admin is there. Returns its id. Called at boot, and then more often than ADMIN_SILENCE_MS_MAX, as
   * renewing leases does.
   */
  checkIn(): Promise<string> {
    return guarded(async () => {
      this.#id ??= await identityOf(this.#orm, this.#self.name);
      const row = await this.#orm.em
        .fork()
        .upsert(
          Admin,
          { id: this.#id, ...this.#said(), startedAt: this.#startedAt, lastCheckedIn: raw('now()') },
          { onConflictFields: ['name'], onConflictExcludeFields: ['id'] },
        );
      // Another id is there where an older release ran under this name meanwhile: that one is known to others now.
      if (row.id !== this.#id)
        await this.#orm.em.fork().nativeUpdate(AdminIdentity, { name: this.#self.name }, { id: row.id });
      this.#id = row.id;
      return row.id;
    });
  }

  /** What it says of itself now. */
  #said() {
    const { urls, ...said } = this.#self;
    const peerUrl = urls.peer();
    return { ...said, url: urls.own(), instanceId: this.instanceId, peerUrl: peerUrl === '' ? null : peerUrl };
  }

  /** Removes other admins that have not checked in for so long by the database's clock. Answers how many. */
  forgetGone(afterMs: number): Promise<number> {
    return guarded(() =>
      this.#orm.em.fork().nativeDelete(Admin, {
        name: { $ne: this.#self.name },
        lastCheckedIn: { $lt: raw("clock_timestamp() - ? * interval '1 ms'", [afterMs]) },
      }),
    );
  }

  /** Removes this admin from the list, at shutdown. */
  checkOut(): Promise<void> {
    return guarded(async () => {
      await this.#orm.em.fork().nativeDelete(Admin, { name: this.#self.name });
    });
  }

  me(): Promise<OwnResource> {
    return guarded(async () => {
      const em = this.#orm.em.fork();
      const peers = await em.count(Admin, { name: { $ne: this.#self.name }, lastCheckedIn: lately() });
      const row = await em.findOne(Admin, { name: this.#self.name });
      return this.#resource(row?.id ?? (await this.checkIn()), peers);
    });
  }

  #resource(id: string, peers: number): OwnResource {
    const { name, urls, version, adminClusterName, maxWireguardPeers } = this.#self;
    return {
      id,
      name,
      version,
      role: 'admin',
      admin_cluster_name: adminClusterName,
      erlang_node_name: erlangNodeName({ name, url: urls.own() }),
      vpn_host_id: id, // its gateway is known by it
      vpn_hostname: null,
      max_wireguard_peers: maxWireguardPeers,
      admin_peer_count: peers,
      edge_node_capacity: edgeCapacity(maxWireguardPeers, peers + 1),
      last_computed_at: new Date(this.#clock.nowMs()).toISOString(),
    };
  }
}

/** Not longer ago than ADMIN_SILENCE_MS_MAX. */
function lately() {
  return { $gt: raw(`now() - interval '${ADMIN_SILENCE_MS_MAX} milliseconds'`) };
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
