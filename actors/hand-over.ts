/** Clusters that change their owner while both admins live, as everybody speaks of it. */
/**
 * Version of what admins say to each other (transport/admins/protocol/version.ts) from which on one hears that it was
 * given a cluster. An older one is given none.
 */
export const HAND_OVER_LINK_VERSION = 2;

/**
 * Why clusters are handed over: so that all admins own about as many, to make room, because the admin is drained, or as
 * it stops.
 */
export const HAND_OVER_REASONS = ['balance', 'room', 'drain', 'stop'] as const;

/** One of them. */
export type HandOverReason = (typeof HAND_OVER_REASONS)[number];

/**
 * Why a cluster stays: nobody is there who would take it, who is there is being drained or has no room, or this admin
 * does not own it any more.
 */
export type StaysBecause = 'gone' | 'draining' | 'no_room' | 'not_ours';

/** Whether an admin can be given clusters: it listens, hears of them, and is not being drained. */
export function takesClusters(admin: {
  readonly peerUrl: string | null;
  readonly linkVersion: number | null;
  readonly drainingSinceMs: number | null;
}): boolean {
  return admin.peerUrl !== null && (admin.linkVersion ?? 0) >= HAND_OVER_LINK_VERSION && admin.drainingSinceMs === null;
}
