/**
 * The ownership loop: check in, renew, claim what is free and ours, let go of what was lost. Takes no input; every
 * round compares what should be with what is. Actors come to life beside it: no lease runs out while they are read.
 */
import { edgeCapacity } from '../../actors/edge-capacity.ts';
import { DatabaseUnavailable, NameTakenOver } from '../../actors/ports.ts';
import type { Refusal } from '../../actors/refusal.ts';
import type { Standing } from '../../actors/standing.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import { createTemporaryLeases, type TemporaryLeases } from './temporary-leases.ts';
import { giveAllAway, notDraining, type GiveAwayPorts } from './give-away.ts';
import { HandOvers } from './hand-over.ts';
import type { Owned, SizedCluster, SurveyedAdmin } from './lease-port.ts';
import { ClaimSelection } from './claim-selection.ts';
import type { OwnershipPorts } from './ownership-ports.ts';
import { assign } from './placement.ts';
import { Rebalancing } from './rebalancing.ts';
import { retake } from './retake.ts';
import { ClusterActivation } from './cluster-activation.ts';
import { standingOf } from './standing.ts';
import { ToldStanding } from './told-standing.ts';
import { WatchTimes } from './watch-times.ts';

/** Time between two rounds, in ms. A third of the lease, so that one lost round costs nothing. */
export const ROUND_MS = 1_000;

/** The agents of an admin that stops have so long to be told where to go at a pace, in ms; the rest is told at once. */
export const DEPARTED_MS_MAX = 5_000;

/** An ownership loop, not started. */
export class Ownership {
  readonly #ports: OwnershipPorts;
  readonly #temporary: TemporaryLeases;
  readonly #activation: ClusterActivation;
  readonly #handOvers: HandOvers;
  readonly #rebalancing: Rebalancing;
  readonly #standing: ToldStanding;
  /** Created here and left free: their actors end in the next round. */
  #strangers: ClusterId[] = [];
  readonly #claims: ClaimSelection;
  readonly #times: WatchTimes;
  #isStopped = false;
  /** It stops, and takes nothing more. */
  #isLeaving = false;
  #hasPeers = false;
  #takesTasks = true;
  #cancel: () => void = () => undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(ports: OwnershipPorts) {
    this.#ports = ports;
    this.#times = new WatchTimes(ports.leaseClockMs);
    const isOpen = (): boolean => !this.#isStopped && !this.#isLeaving;
    const ended = (cluster: ClusterId): void => this.#end(cluster, 'idle');
    this.#temporary = createTemporaryLeases({ ...ports, times: this.#times, ended }, isOpen);
    this.#claims = new ClaimSelection(ports.adminId);
    this.#activation = new ClusterActivation(ports);
    this.#standing = new ToldStanding(ports.log);
    this.#handOvers = new HandOvers({ ...ports, left: (cluster) => this.#end(cluster, 'given') });
    this.#rebalancing = new Rebalancing({ ...this.#giveAwayPorts(), ...ports, handOvers: this.#handOvers });
  }

  /**
   * Takes what is ours, renews it from then on by itself, and starts its actors. Resolves when these are here, as far
   * as their rows can be read and for ACTIVATION_AWAITED_MS_MAX at most. Rejects with DatabaseUnavailable: nothing goes
   * on by itself, and it may be called again.
   */
  async start(): Promise<void> {
    await this.#ports.checkIn();
    const { admins } = await this.#ports.leases.survey(0); // who died lately takes no room of what was its own
    const sentAtMs = this.#ports.leaseClockMs();
    this.#gained(await retake(this.#ports, withEdgeCapacity(admins)), sentAtMs);
    await this.#compare();
    this.#schedule();
    await this.#activation.awaited();
  }

  /**
   * Gives everything to the other admins, as far as they take it, and takes nothing more. Resolves when their agents
   * are told where to go too, or the time is up. Never rejects; an admin that is alone, or starts anew, keeps all.
   */
  async handOverAll(): Promise<void> {
    this.#isLeaving = true;
    await this.#rebalancing.stop();
    if (!this.#hasPeers || this.#ports.isSetBack()) return;
    const isThere = await giveAllAway(this.#giveAwayPorts());
    await this.#ports.sessions.departed(DEPARTED_MS_MAX);
    if (isThere) await giveAllAway(this.#giveAwayPorts()); // what was created or came meanwhile
  }

  /** Stops the loop and gives every lease back, but to start anew. */
  async stop(): Promise<void> {
    const { adminId, leases, held, isSetBack } = this.#ports;
    this.#isStopped = true;
    this.#cancel();
    await Promise.all([this.#round.then(() => this.#temporary.settled()), this.#activation.stop()]);
    if (!isSetBack()) await leases.release(adminId, held.all());
  }

  /**
   * Another admin handed these over. A lease counts from when a request of this admin for it was sent: it is renewed
   * before anything is done under it. What cannot be done now the next round finds.
   */
  given(owned: readonly Owned[]): void {
    this.#take(owned).catch((error: unknown) => this.#failed(error));
  }

  /** For metrics. */
  handOvers = () => this.#handOvers.readings();

  /** As Rebalancing's: so that one more node fits into this cluster. */
  makeRoom = (cluster: ClusterId): Promise<boolean> => this.#rebalancing.makeRoom(cluster);

  /** A cluster that this admin just created, and owns under this epoch; null: another is to own it. */
  created(cluster: ClusterId, epoch: number | null): void {
    if (epoch === null) this.#strangers.push(cluster);
    else this.#ports.held.hold(cluster, epoch, this.#ports.leaseClockMs());
  }

  /** Whether the live admins have room for all clusters, as of the last round. */
  standing = (): Standing => this.#standing.now;

  /** Whether other admins were alive, as of the last round. */
  hasPeers = (): boolean => this.#hasPeers;

  /**
   * Whether this admin does what one does at a time, as of the last round: one that is drained or stops leaves it to
   * the others, as long as one lives that is neither.
   */
  takesTasks(): boolean {
    return this.#takesTasks;
  }

  /** Why nothing is written for a cluster that no admin has room for; null: it is none. */
  orphaned(cluster: ClusterId): Refusal | null {
    return this.#standing.refusalOf(cluster);
  }

  /**
   * Takes an orphan under an epoch of its own for as long as somebody deletes or moves its nodes, which is what ends
   * the want of room. As `take` of TemporaryLeases.
   */
  leaseTemporarily(cluster: ClusterId): Promise<boolean> {
    return this.#temporary.take(cluster, this.#standing.orphans());
  }

  /** Whether all actors of the clusters that are held are here. */
  isActivated = (): boolean => this.#activation.isActivated();

  /** As ClusterActivation's. */
  late = (ms: number): number => this.#activation.late(ms);

  /** Held for the moment only: its agents belong nowhere still. */
  isTemporary(cluster: ClusterId): boolean {
    return this.#temporary.has(cluster);
  }

  /** How long ago the last round succeeded, in ms. */
  quietMs = (): number => this.#times.quietMs();

  /** For how long this admin has looked after the leases without a gap, in ms; 0 while it does not. */
  watchedMs = (): number => this.#times.watchedMs();

  /**
   * Clusters that this admin has held for at least so long, in ms, and looked after without a gap, with all of their
   * actors: an agent of theirs that lives had that time to come.
   */
  heldFor(ms: number): readonly ClusterId[] {
    if (this.watchedMs() < ms) return [];
    const { held } = this.#ports;
    const isOld = (sinceMs: number): boolean => this.#ports.leaseClockMs() - sinceMs >= ms;
    const isServed = (id: ClusterId): boolean => this.#activation.isActivated(id) && !this.isTemporary(id);
    return held.all().flatMap((one) => (isServed(one.cluster) && isOld(one.sinceMs) ? one.cluster : []));
  }

  async #compare(): Promise<void> {
    const { adminId, handOvers, held, checkIn } = this.#ports;
    const sentAtMs = this.#ports.leaseClockMs();
    await checkIn();
    this.#times.answered();
    this.#temporary.endIdle();
    await this.#renew(sentAtMs);
    this.#times.answered();
    this.#temporary.release();
    for (const cluster of this.#strangers.splice(0)) this.#ports.directory.evict(cluster);
    const { admins, free } = await this.#survey();
    const takers = notDraining(admins);
    const assigned = assign(free, takers);
    this.#hasPeers = admins.some(({ id }) => id !== adminId);
    this.#takesTasks = takers.length === 0 || takers.some(({ id }) => id === adminId);
    this.#standing.is(standingOf(admins, free, assigned));
    const heard = takers.filter(({ isHeard }) => isHeard); // nothing is kept for who may be gone
    await this.#claim(this.#claims.claimed(free, heard, assign(free, heard)));
    const unheld = this.#hasPeers ? await handOvers.unheld(adminId, column(held.all())) : [];
    await this.#take(unheld.filter(({ cluster }) => !this.#temporary.isPassing(cluster)));
    this.#activation.begin();
    if (!this.#isLeaving) this.#rebalancing.round(admins, this.#standing.now.orphans.length);
    this.#times.succeeded();
  }

  async #claim(clusters: readonly ClusterId[]): Promise<void> {
    const { adminId, takeovers, leaseClockMs } = this.#ports;
    if (this.#isLeaving) return;
    const sentAtMs = leaseClockMs();
    this.#gained(await takeovers.take(adminId, clusters), sentAtMs);
  }

  /** Ours by the rows, and not held yet. */
  async #take(owned: readonly Owned[]): Promise<void> {
    const { adminId, leases, leaseClockMs } = this.#ports;
    if (owned.length === 0) return;
    if (this.#isLeaving || this.#isStopped) return leases.release(adminId, owned);
    const sentAtMs = leaseClockMs();
    const gained = this.#gained(await leases.renew(adminId, owned), sentAtMs);
    this.#handOvers.receivedMore(gained.length);
    this.#activation.begin();
  }

  #giveAwayPorts(): GiveAwayPorts {
    const isTemporary = (cluster: ClusterId): boolean => this.isTemporary(cluster);
    return { ...this.#ports, handOvers: this.#handOvers, times: this.#times, isTemporary };
  }

  /**
   * After a gap of this admin's own, or a jump of the database's clock, the others have time to renew: nothing is free
   * by an answer with one before it.
   */
  async #survey(): Promise<{ readonly admins: readonly SurveyedAdmin[]; readonly free: readonly SizedCluster[] }> {
    const sentAtMs = this.#ports.leaseClockMs();
    const { admins, free, ...times } = await this.#ports.leases.survey(this.#times.unseenMs());
    const hasSeen = this.#times.looked({ sentAtMs, ...times });
    return { admins: withEdgeCapacity(admins), free: hasSeen ? free : [] };
  }

  async #renew(sentAtMs: number): Promise<void> {
    const { adminId, leases, held, directory } = this.#ports;
    const before = held.all(); // not those that are created while the renewal is under way
    const renewed = await leases.renew(adminId, before);
    const still = new Set(column(renewed));
    for (const { cluster, epoch } of before) {
      if (still.has(cluster) || held.leaseOf(cluster).epoch !== epoch) continue;
      if (held.isLeaving(cluster)) continue; // whoever gives it away sees what became of it
      // Of one that was deleted here nobody lives any more, and its rows are gone: that is no news.
      const isGone = this.#activation.isActivated(cluster) && !directory.isLocal({ kind: 'cluster', id: cluster });
      this.#end(cluster, isGone ? 'deleted' : 'lost');
    }
    for (const { cluster, epoch } of renewed) held.renewed(cluster, epoch, sentAtMs);
  }

  #gained(owned: readonly Owned[], sentAtMs: number): readonly Owned[] {
    this.#times.answered();
    const gained = this.#activation.gained(owned, sentAtMs);
    if (gained.length > 0) this.#ports.log.info({ clusters: gained.length }, 'clusters are owned by this admin now');
    return gained;
  }

  /** Agents of one that was given away are told where to go by whoever gave it. */
  #end(cluster: ClusterId, why: 'lost' | 'deleted' | 'given' | 'idle'): void {
    this.#ports.held.lose(cluster);
    this.#temporary.forget(cluster);
    this.#activation.forget(cluster);
    this.#ports.directory.evict(cluster, why === 'given' ? 'agents stay' : 'agents go');
    if (why === 'lost') this.#ports.log.warn({ cluster }, 'a cluster is not owned by this admin any more');
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#ports.clock.after(this.#times.nextRoundMs(ROUND_MS), () => {
      this.#round = this.#compare()
        .catch((error: unknown) => this.#failed(error))
        .then(() => this.#schedule());
    });
  }

  #failed(error: unknown): void {
    const { log } = this.#ports;
    if (error instanceof DatabaseUnavailable)
      log.warn({ error: error.message }, 'leases could not be renewed: trying again');
    else if (error instanceof NameTakenOver) this.#endAll(error);
    else log.error({ error }, 'the ownership loop failed: trying again');
  }

  /** Nothing is renewed, delivered or given back: all of it is the other process's now. */
  #endAll(error: NameTakenOver): void {
    const { held, log } = this.#ports;
    this.#isStopped = true;
    for (const { cluster } of held.all()) this.#end(cluster, 'deleted');
    log.error({ error: error.message }, 'this admin owns nothing any more');
  }
}

/** With the room that they have as so many. */
function withEdgeCapacity(admins: readonly SurveyedAdmin[]): readonly SurveyedAdmin[] {
  return admins.map((one) => ({ ...one, capacity: edgeCapacity(one.capacity, admins.length) }));
}

function column(owned: readonly { readonly cluster: ClusterId }[]): readonly ClusterId[] {
  return owned.map(({ cluster }) => cluster);
}
