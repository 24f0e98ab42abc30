/** What an admin claims of the free clusters: its own by the assignment, and what another one did not take. */
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { SizedCluster } from './lease-port.ts';
import { roomOf, type AdminLoad } from './placement.ts';

/**
 * So many rounds an admin has to take what is assigned to it; then whoever has room does. Admins of two versions may
 * assign differently, and each would wait for the other.
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
    const room = roomOf(me) - mine.reduce((sum, { nodes }) => sum + nodes, 0);
    const left = others.find(
      ({ cluster, nodes }) => (this.#rounds.get(cluster) ?? 0) > UNCLAIMED_ROUNDS_MAX && nodes <= room,
    );
    return [...mine, ...(left === undefined ? [] : [left])].map(({ cluster }) => cluster);
  }
}
