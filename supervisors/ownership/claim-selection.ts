/** What an admin claims of the free clusters: its own by the assignment, and what another one did not take. */
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { SizedCluster } from './lease-port.ts';
import { roomOf, type AdminLoad } from './placement.ts';

/**
 * So many rounds an admin has to take what is assigned to it; then whoever has room takes all that fits. Admins of two
 * versions may assign differently, and each would wait for the other; and one that checks in and can renew nothing is
 * assigned its own lost clusters, as it owns fewest.
 */
export const UNCLAIMED_ROUNDS_MAX = 3;

/** Counts rounds. A class, because it goes on from one round to the next. */
export class ClaimSelection {
  readonly #adminId: string;
  /** Rounds for which each was another admin's to take. */
  #rounds: ReadonlyMap<ClusterId, number> = new Map();

  constructor(adminId: string) {
    this.#adminId = adminId;
  }

  /** Those that this admin claims in this round. */
  claimed(
    free: readonly SizedCluster[],
    admins: readonly AdminLoad[],
    assigned: ReadonlyMap<string, string>,
  ): readonly ClusterId[] {
    const others = free.filter(({ cluster }) => (assigned.get(cluster) ?? this.#adminId) !== this.#adminId);
    this.#rounds = new Map(others.map(({ cluster }) => [cluster, (this.#rounds.get(cluster) ?? 0) + 1]));
    const mine = free.filter(({ cluster }) => assigned.get(cluster) === this.#adminId);
    const me = admins.find(({ id }) => id === this.#adminId);
    if (me === undefined) return mine.map(({ cluster }) => cluster);
    let room = roomOf(me) - mine.reduce((sum, { nodes }) => sum + nodes, 0);
    const left = others.filter(({ cluster, nodes }) => {
      const isTaken = (this.#rounds.get(cluster) ?? 0) > UNCLAIMED_ROUNDS_MAX && nodes <= room;
      if (isTaken) room -= nodes;
      return isTaken;
    });
    return [...mine, ...left].map(({ cluster }) => cluster);
  }
}
