/** Who owns which cluster, as the database has it. */
import type { StaysBecause } from '../../actors/hand-over.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { PlacedAdmin } from './moves.ts';
import type { AdminLoad, ClusterSize, PlacedCluster } from './placement.ts';

/** A cluster that nobody owns, or that this admin owned last. */
export type SizedCluster = ClusterSize & { readonly cluster: ClusterId };

/** A cluster under the epoch that its owner holds. */
export interface Owned {
  readonly cluster: ClusterId;
  readonly epoch: number;
}

/** An admin that is alive. */
export interface SurveyedAdmin extends AdminLoad {
  readonly name: string;
  /** False: it is counted as alive only since this admin was not there to see its silence. */
  readonly isHeard: boolean;
  /** Where other admins reach it; null: it does not listen yet. */
  readonly peerUrl: string | null;
  /** Version of what it says to other admins; null: none. */
  readonly linkVersion: number | null;
  /** Unix ms by the database's clock; null: it takes clusters. */
  readonly drainingSinceMs: number | null;
}

/** Who owns what, with all that a plan of moves depends on, in one snapshot. */
export interface Placement {
  /** Those that are alive. `capacity`: peers that each can have. */
  readonly admins: readonly (PlacedAdmin & { readonly name: string })[];
  readonly clusters: readonly (PlacedCluster & { readonly epoch: number })[];
}

/** What ownership needs of the database. Implemented by persistence. */
export interface LeasePort {
  renew(adminId: string, owned: readonly Owned[]): Promise<readonly Owned[]>;
  /** Clusters that this admin was the last to own and did not let go, its leases over or not. */
  mine(adminId: string): Promise<readonly SizedCluster[]>;
  retake(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]>;
  /** Takes those that are free, whether there is room for them or not. */
  claim(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]>;
  /** They are nobody's then, and free at once. */
  release(adminId: string, owned: readonly Owned[]): Promise<void>;
  /** Says that this admin stops: it is given nothing more. */
  stopping(adminId: string): Promise<void>;
  /**
   * `unseenMs` of both: others may have been silent for so much longer, since this admin was not there to see it
   * (watch-times.ts).
   */
  survey(unseenMs: number): Promise<{
    readonly admins: readonly SurveyedAdmin[];
    readonly free: readonly SizedCluster[];
    /** The time of the database as it looked: Unix ms. */
    readonly databaseMs: number;
    /** The first lease runs out after so long unless it is renewed, in ms; null: none, or `unseenMs` is above 0. */
    readonly nextFreeMs: number | null;
  }>;
  placement(unseenMs: number): Promise<Placement>;
}

/** Free clusters that come to an admin. Implemented by persistence. */
export interface TakeoverPort {
  /** Takes those that are free, the smallest first, as many as this admin has room for as it takes them. */
  take(adminId: string, clusters: readonly ClusterId[]): Promise<readonly Owned[]>;
}

/** Clusters from one admin to another while both live. Implemented by persistence. */
export interface HandOverPort {
  /**
   * Gives what the other admin can take in one transaction, which tells it so. `url`: where agents reach it. Rejects:
   * it is not known whether it was done.
   */
  give(
    from: string,
    owned: readonly Owned[],
    to: string,
  ): Promise<{
    readonly given: readonly Owned[];
    readonly url: string;
    readonly staysBecause: StaysBecause | null;
  }>;
  /** Leases of this admin that run, without those named: it was given them, and did not hear of it. */
  unheld(adminId: string, held: readonly ClusterId[]): Promise<readonly Owned[]>;
}
