/** What surfaces need to know of the admins that share this database. Implemented by persistence and transport. */
import type {
  AdminClusterResource,
  AdminResource,
  ClusterHostNames,
  MyAdminClusterResource,
} from '../actors/resources/admin.ts';
import type { AdminLinkResource, OwnedClusterResource, PeerAdminResource } from '../actors/resources/peer-admin.ts';
import type { Result } from '../actors/refusal.ts';
import type { ClusterId } from '../transport/protocol/ids.ts';

/** What this admin says of itself and its peers. */
export interface AdminDirectory {
  me(): Promise<Omit<AdminResource, 'proxies'>>;
}

/** Admins and what they own. Every call rejects with DatabaseUnavailable when the database is away. */
export interface AdminTopology {
  /** The group of this admin. */
  mine(): Promise<Omit<MyAdminClusterResource, 'degraded'>>;
  /** All groups by name, with admins that are registered and silent. */
  adminClusters(): Promise<readonly AdminClusterResource[]>;
  /** By the name of the admin that owns them. */
  edgeClusters(): Promise<Readonly<Record<string, ClusterHostNames>>>;
  /** These, as far as nobody owns them now. */
  ownerless(clusters: readonly ClusterId[]): Promise<ClusterHostNames>;
}

/** An admin as its rows have it. */
export type PeerAdmin = Omit<PeerAdminResource, 'link' | 'clusters'>;

/** How an admin gets to another one, or to itself. */
export type AdminLink = AdminLinkResource;

/** All admins, and which of them drain. Every call rejects with DatabaseUnavailable when the database is away. */
export interface PeerAdmins {
  /** By name: those that check in or are not forgotten yet, and those that drain. */
  list(): Promise<readonly PeerAdmin[]>;
  /** Null: no admin of this name or id is known. One that was stopped is known for as long as its name is. */
  find(nameOrId: string): Promise<PeerAdmin | null>;
  /** What the admin of this id owns now, by name, at most OWNED_CLUSTERS_MAX. */
  clustersOf(id: string): Promise<readonly OwnedClusterResource[]>;
  /**
   * It gives its clusters away and takes none from now on, also after a restart, until `resume`. Doing it again changes
   * nothing. `conflict`: no other admin is there that takes clusters. `not_found`: no admin of this name or id.
   */
  drain(nameOrId: string): Promise<Result<PeerAdmin>>;
  /** It takes clusters again. Doing it again changes nothing. `not_found`: no admin of this name or id. */
  resume(nameOrId: string): Promise<Result<PeerAdmin>>;
}
