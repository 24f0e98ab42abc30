/**
 * An admin that gives everything away, as it stops or is drained: to whoever has room, as a takeover would place it.
 */
import { takesClusters, type HandOverReason } from '../../actors/hand-over.ts';
import { edgeCapacity } from '../../actors/edge-capacity.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { HandOvers, Pace } from './hand-over.ts';
import type { HeldLeases } from './held.ts';
import type { LeasePort, SurveyedAdmin } from './lease-port.ts';
import { assign } from './placement.ts';
import type { WatchTimes } from './watch-times.ts';

/** An admin that stops has so long to begin to give its clusters to others, in ms. */
export const GIVE_ALL_MS_MAX = 8_000;

/** What it looks at, and who does it. */
export interface GiveAwayPorts {
  readonly adminId: string;
  readonly leases: Pick<LeasePort, 'survey' | 'mine' | 'stopping'>;
  readonly held: Pick<HeldLeases, 'holds' | 'isLeaving'>;
  readonly handOvers: Pick<HandOvers, 'give'>;
  readonly times: Pick<WatchTimes, 'unseenMs'>;
  /** Held for the moment only: it is let go and not given. */
  readonly isTemporary: (cluster: ClusterId) => boolean;
  readonly log: Log;
  readonly leaseClockMs: () => number;
}

/**
 * As it stops: until nothing is left that others take, the time is up, or it is not known what became of some. False:
 * the database is away. Never rejects.
 */
export async function giveAllAway(ports: GiveAwayPorts): Promise<boolean> {
  const untilMs = ports.leaseClockMs() + GIVE_ALL_MS_MAX;
  const goesOn = (): boolean => ports.leaseClockMs() < untilMs;
  try {
    await ports.leases.stopping(ports.adminId); // it owns fewest soon, and would be given clusters for balance
    while (goesOn()) {
      const { given, kept, isThrough, isKnown } = await giveAway(ports, 'stop', () => (goesOn() ? Infinity : 0));
      if (!isKnown) return false;
      if (isThrough && (given === 0 || kept === 0)) return true;
    }
    return true;
  } catch (error) {
    ports.log.warn({ error }, 'clusters could not be handed over before the stop: they are let go');
    return false;
  }
}

/** What came of one pass, in clusters. */
export interface GivenAway {
  readonly given: number;
  /** That nobody takes. */
  readonly kept: number;
  /** False: not all were tried. */
  readonly isThrough: boolean;
  /** False: it is not known what became of some. */
  readonly isKnown: boolean;
}

/** One pass over all that is held, at this pace. Rejects with DatabaseUnavailable. */
export async function giveAway(ports: GiveAwayPorts, reason: HandOverReason, pace: Pace): Promise<GivenAway> {
  const { adminId, leases, held, handOvers, times, isTemporary } = ports;
  const { admins } = await leases.survey(times.unseenMs());
  const takers = takersOf(admins, adminId);
  const mine = (await leases.mine(adminId)).filter(({ cluster }) => held.holds(cluster) && !isTemporary(cluster));
  const placed = assign(mine, takers);
  let given = 0;
  let kept = mine.length - placed.size;
  for (const taker of takers) {
    const clusters = mine.filter(({ cluster }) => placed.get(cluster) === taker.id);
    const outcome = await handOvers.give(clusters, taker, reason, pace);
    given += outcome.given.length;
    kept += outcome.stayed;
    if (!outcome.isThrough) return { given, kept, isThrough: false, isKnown: outcome.isKnown };
  }
  return { given, kept, isThrough: true, isKnown: true };
}

/** Admins that can be given clusters, with the room that they have as so many. */
export function takersOf(admins: readonly SurveyedAdmin[], self: string): readonly SurveyedAdmin[] {
  return admins
    .filter((admin) => admin.id !== self && admin.isHeard && takesClusters(admin))
    .map((admin) => ({ ...admin, capacity: edgeCapacity(admin.capacity, admins.length) }));
}

/** Those to whom free clusters go: who is drained takes some only where nobody else lives. */
export function notDraining<Admin extends Pick<SurveyedAdmin, 'drainingSinceMs'>>(
  admins: readonly Admin[],
): readonly Admin[] {
  const takers = admins.filter(({ drainingSinceMs }) => drainingSinceMs === null);
  return takers.length > 0 ? takers : admins;
}
