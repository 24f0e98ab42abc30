/**
 * The gateway's doors and the wall around them: one door a VPN, where agents open tunnels over the VPN, and
 * nothing else is reached.
 */
import type { ClusterId } from '../../protocol/ids.ts';
import { openDoor } from './entrance.ts';
import type { OpenDoor, TunnelUpgrade } from './entrance.ts';
import type { Wall } from './wall.ts';

/** Rules that somebody else took away, as a firewall that is loaded again does, stand again after this, in ms. */
const WALL_AGAIN_MS = 5_000;

/** All of them. */
export interface Doors {
  /** Closes those of other VPNs. */
  keep(addresses: ReadonlyMap<ClusterId, string>): void;
  /**
   * Opens what is not open, as far as its address is there. Null: nothing stands in the way; else one sentence. Never
   * rejects.
   */
  settle(addresses: ReadonlyMap<ClusterId, string>): Promise<string | null>;
  /** Null: it is not open, or the interface is gone. */
  urlOf(cluster: ClusterId): string | null;
  /** Cuts what came in. */
  close(): void;
}

/** None is open at first; the wall stands already. */
export function createDoors({
  wall,
  upgrade,
  monotonicMs,
}: {
  readonly wall: Wall;
  readonly upgrade: TunnelUpgrade;
  readonly monotonicMs: () => number;
}): Doors {
  const doors = new Map<ClusterId, OpenDoor>();
  let raised = { for: '', atMs: -Infinity };
  let problem: string | null = null;
  let isThere = false;
  let isClosed = false;

  async function raise(): Promise<void> {
    const open = [...doors.values()].map(({ ipv4, port }) => ({ ipv4, port }));
    const of = JSON.stringify(open);
    if (of === raised.for && monotonicMs() - raised.atMs < WALL_AGAIN_MS) return;
    problem = await wall.raise(open);
    if (problem === null) raised = { for: of, atMs: monotonicMs() };
  }

  return {
    keep(addresses) {
      for (const [cluster, door] of doors) {
        if (addresses.get(cluster) === door.ipv4) continue;
        doors.delete(cluster);
        door.close();
      }
    },
    async settle(addresses) {
      isThere = await wall.holdApart();
      for (const [cluster, ipv4] of addresses) {
        if (doors.has(cluster)) continue;
        const door = await openDoor(ipv4, upgrade);
        // its address appears a moment after the interface, or never where the system refuses it: in the next round
        if (door === null) continue;
        if (isClosed) door.close();
        else doors.set(cluster, door);
      }
      await raise();
      return problem;
    },
    urlOf: (cluster) => (isThere ? (doors.get(cluster)?.url ?? null) : null),
    close() {
      isClosed = true;
      for (const door of doors.values()) door.close();
      doors.clear();
    },
  };
}
