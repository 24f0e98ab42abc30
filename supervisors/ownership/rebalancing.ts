/**
 * Clusters that should be another admin's while all live. Every admin plans the same from one snapshot, and carries out
 * the moves away from itself: nobody coordinates. Takes no input; it looks again after each change.
 */
import { edgeCapacity } from '../../actors/edge-capacity.ts';
import type { HandOverReason } from '../../actors/hand-over.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { SessionLink } from '../ports.ts';
import { giveAway, type GiveAwayPorts } from './give-away.ts';
import { DEPARTING_MAX, type GivenCluster, type HandOvers } from './hand-over.ts';
import type { LeasePort, Placement, SurveyedAdmin } from './lease-port.ts';
import { DIFFERENCE_MIN, planned } from './moves.ts';
import type { Move } from './placement.ts';
import { growthMove } from './growth-moves.ts';

/** What it looks at, and who does it. */
export interface RebalancingPorts extends GiveAwayPorts {
  readonly leases: Pick<LeasePort, 'survey' | 'mine' | 'placement' | 'stopping'>;
  readonly handOvers: Pick<HandOvers, 'give' | 'isUnderWay'>;
  readonly sessions: Pick<SessionLink, 'departing'>;
  /** An admin gets nothing by balancing before it has been there for so long, in ms. */
  readonly settledMs: number;
  readonly log: Log;
}

/** Rounds that are left out after one in which nobody took what was to be given: a try that fails holds up writes. */
export const KEPT_REST_ROUNDS = 4;

/** Nothing is planned at first. */
export class Rebalancing {
  readonly #ports: RebalancingPorts;
  /** Who owned what when it was looked last. A plan is carried out only where that has come to rest. */
  #seen = '';
  /** Clusters that this admin should have given away and could not, as last told. */
  #keptTold = 0;
  #restRounds = 0;
  #isStopped = false;
  #running: Promise<void> | null = null;
  #making: Promise<boolean> | null = null;

  constructor(ports: RebalancingPorts) {
    this.#ports = ports;
  }

  /** After each round of ownership: `admins` are those that are alive, `orphans` how many clusters fit nowhere. */
  round(admins: readonly SurveyedAdmin[], orphans: number): void {
    if (this.#running !== null || this.#ports.handOvers.isUnderWay) return;
    this.#restRounds -= 1;
    if (this.#restRounds >= 0 || this.#pace() < 1) return;
    this.#running = this.#look(admins, orphans)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#running = null;
      });
  }

  /**
   * Moves a cluster away, so that one more node fits into this one at whoever owns it then. False: no single move does.
   * One at a time: who asks meanwhile waits for it and looks again. Never rejects.
   */
  makeRoom(cluster: ClusterId): Promise<boolean> {
    this.#making ??= this.#madeRoom(cluster)
      .catch((error: unknown) => {
        this.#failed(error);
        return false;
      })
      .finally(() => {
        this.#making = null;
      });
    return this.#making;
  }

  async #madeRoom(cluster: ClusterId): Promise<boolean> {
    const { adminId, leases, handOvers, times } = this.#ports;
    const placement = withEdgeCapacity(await leases.placement(times.unseenMs()));
    const { linkVersion = null } = placement.admins.find(({ id }) => id === adminId) ?? {};
    const move = linkVersion === null ? null : growthMove(cluster, 1, placement, linkVersion);
    if (move === null || move.from !== adminId) return false;
    const name = placement.admins.find(({ id }) => id === move.to)?.name ?? move.to;
    const { given } = await handOvers.give(movedOf([move], placement), { id: move.to, name }, 'room');
    return given.length > 0;
  }

  /** Begins nothing more. Resolves when nothing is carried out any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    await this.#making;
  }

  async #look(admins: readonly SurveyedAdmin[], orphans: number): Promise<void> {
    const { adminId, leases, times } = this.#ports;
    const me = admins.find(({ id }) => id === adminId);
    if (me === undefined) return;
    if (me.drainingSinceMs !== null) return this.#drain();
    this.#keptTold = 0;
    if (admins.length < 2 || (orphans === 0 && !isUneven(admins))) return void (this.#seen = '');
    const placement = await leases.placement(times.unseenMs());
    const seen = fingerprintOf(placement);
    const isAtRest = seen === this.#seen;
    this.#seen = seen;
    if (isAtRest) await this.#carryOut(this.#planned(placement, me), placement);
  }

  #planned(placement: Placement, { linkVersion }: SurveyedAdmin): readonly Move[] {
    const { adminId, settledMs } = this.#ports;
    if (linkVersion === null) return [];
    const { admins, clusters } = withEdgeCapacity(placement);
    return planned(admins, clusters, linkVersion, settledMs).filter(({ from }) => from === adminId);
  }

  async #carryOut(moves: readonly Move[], placement: Placement): Promise<void> {
    const { admins, clusters } = placement;
    const reason: HandOverReason = clusters.some(({ owner }) => owner === null) ? 'room' : 'balance';
    for (const [to, toIt] of Map.groupBy(moves, (move) => move.to)) {
      const name = admins.find(({ id }) => id === to)?.name ?? to;
      const { isThrough } = await this.#ports.handOvers.give(
        movedOf(toIt, placement),
        { id: to, name },
        reason,
        this.#pace,
      );
      if (!isThrough) return;
    }
  }

  /** What nobody takes stays here, and that is said once. */
  async #drain(): Promise<void> {
    const { given, kept, isThrough } = await giveAway(this.#ports, 'drain', this.#pace);
    if (kept > 0 && given === 0 && isThrough) this.#restRounds = KEPT_REST_ROUNDS;
    if (kept > 0 && this.#keptTold === 0)
      this.#ports.log.warn(
        { clusters: kept },
        'this admin is drained, and no other admin takes its clusters: it keeps them',
      );
    this.#keptTold = kept;
  }

  /** A drain and balancing leave time to tell the agents. */
  readonly #pace = (): number => (this.#isStopped ? 0 : DEPARTING_MAX - this.#ports.sessions.departing());

  #failed(error: unknown): void {
    const { log } = this.#ports;
    if (error instanceof DatabaseUnavailable) log.debug({}, 'hand-overs wait for the database');
    else log.error({ error }, 'planning of hand-overs failed: trying again');
  }
}

function withEdgeCapacity({ admins, clusters }: Placement): Placement {
  const placed = admins.map((admin) => ({ ...admin, capacity: edgeCapacity(admin.capacity, admins.length) }));
  return { admins: placed, clusters };
}

function movedOf(moves: readonly Move[], { clusters }: Placement): readonly GivenCluster[] {
  return moves.map(({ cluster }) => ({
    cluster: cluster as ClusterId,
    nodes: clusters.find((one) => one.cluster === cluster)?.nodes ?? 0,
  }));
}

/** Whether balancing may have something to do: two admins differ by more than one cluster. */
function isUneven(admins: readonly SurveyedAdmin[]): boolean {
  const counts = admins.filter(({ drainingSinceMs }) => drainingSinceMs === null).map(({ clusters }) => clusters);
  return Math.max(...counts) - Math.min(...counts) >= DIFFERENCE_MIN;
}

/** Who owns what, under which epoch: a change of any of it is one. */
function fingerprintOf({ admins, clusters }: Placement): string {
  return [...admins.map(({ id }) => id), ...clusters.map(({ cluster, owner, epoch }) => `${cluster}${owner}${epoch}`)]
    .sort()
    .join(' ');
}
