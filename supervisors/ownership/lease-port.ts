/** Who owns which cluster, as the database has it. */
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { AdminLoad, ClusterSize } from './placement.ts';

/** A cluster that nobody owns, or that this admin owned last. */
export type SizedCluster = ClusterSize & { readonly cluster: ClusterId };

/** A cluster under the epoch that its owner holds. */
export interface Owned {
  readonly cluster: ClusterId;
  readonly epoch: number;
}

/** What ownership needs of the database. Implemented by persistence. */
export interface LeasePort {
  renew(adminId: string, owned: readonly Owned[]): Promise<readonly Owned[]>;
  /** Clusters that this admin was the last to own, its leases over or not. */
  mine(adminId: string): Promise<readonly SizedCluster[]>;
  retake(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]>;
  claim(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]>;
  release(adminId: string, owned: readonly Owned[]): Promise<void>;
  survey(): Promise<{
    readonly admins: readonly AdminLoad[];
    readonly free: readonly SizedCluster[];
  }>;
}
