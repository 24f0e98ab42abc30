/** For how many nodes an admin has room, said once for all who ask; in SQL in persistence/committer/capacity.ts. */

/**
 * Peers that an admin can have, less those that are other admins: so many nodes the clusters that it owns may have
 * together. `admins`: those that are alive, itself among them. Never below 0. Source: docs/api.md, Resources.
 */
export function edgeCapacity(peersMax: number, admins: number): number {
  return Math.max(0, peersMax - Math.max(0, admins - 1));
}
