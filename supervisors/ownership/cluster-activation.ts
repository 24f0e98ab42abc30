/**
 * Clusters that came to this admin, and whose actors are brought to life from their rows: beside the renewal of leases,
 * however long it takes. An actor that is asked for before that comes from its own rows.
 */
import { DatabaseUnavailable, isAway, type Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import type { Loader } from '../ports.ts';
import type { Directory } from '../runtime/directory.ts';
import type { HeldLeases } from './held.ts';
import type { Owned } from './lease-port.ts';

/** Clusters that are read together, so that many small ones are few statements. */
export const ACTIVATED_TOGETHER_MAX = 64;

/**
 * A start waits so long for the actors of its clusters, in ms: as long as a call may hang (L3). The rest follows, and
 * what cannot be read keeps no admin from serving what can.
 */
export const ACTIVATION_AWAITED_MS_MAX = 5_000;

/**
 * While nodes come to life for longer than this, what they missed is looked for, in ms, and once behind the last
 * cluster: each look reads what waits for all nodes. Well below what looks go back in time (`EXPIRED_MS_MAX`).
 */
export const MISSED_MS_MAX = 5_000;

/**
 * From where to where. That rows could be read is told to nobody who looks after leases: reads are answered also while
 * no renewal is, of this admin or of another (O1).
 */
export interface ClusterActivationPorts {
  readonly held: Pick<HeldLeases, 'hold' | 'holds' | 'leaseOf'>;
  readonly loader: Pick<Loader, 'clusters' | 'nodes'>;
  readonly directory: Pick<Directory, 'activate' | 'isLocal'>;
  /**
   * What nodes were told while their actors came to life found nobody: it is looked for in the rows. Returns at once.
   */
  readonly missed: () => void;
  readonly clock: Pick<Clock, 'after'>;
  readonly leaseClockMs: () => number;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/** Nothing has to be activated at first. */
export class ClusterActivation {
  readonly #ports: ClusterActivationPorts;
  /** Held, and their actors are not all here: since when, by the lease clock. */
  readonly #pending = new Map<ClusterId, number>();
  /** Reading them with others failed: each is read by itself, after those others. */
  readonly #alone = new Set<ClusterId>();
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(ports: ClusterActivationPorts) {
    this.#ports = ports;
  }

  /** Granted by a request that was sent at this time of the lease clock. Answers those that were not held yet. */
  gained(owned: readonly Owned[], sentAtMs: number): readonly Owned[] {
    const { held } = this.#ports;
    const fresh = owned.filter(({ cluster, epoch }) => held.leaseOf(cluster).epoch !== epoch);
    for (const { cluster, epoch } of owned) held.hold(cluster, epoch, sentAtMs);
    for (const { cluster } of fresh) this.#pending.set(cluster, sentAtMs);
    return fresh;
  }

  isActivated(cluster?: ClusterId): boolean {
    return cluster === undefined ? this.#pending.size === 0 : !this.#pending.has(cluster);
  }

  /** Clusters whose actors have been awaited for longer than this, in ms. */
  late(ms: number): number {
    if (this.#pending.size === 0) return 0;
    const sinceMs = this.#ports.leaseClockMs() - ms;
    return [...this.#pending.values()].filter((atMs) => atMs < sinceMs).length;
  }

  forget(cluster: ClusterId): void {
    this.#pending.delete(cluster);
    this.#alone.delete(cluster);
  }

  /**
   * Brings to life what is not here yet: each cluster is tried once, also one that comes meanwhile. Returns at once;
   * what fails is tried with the next call.
   */
  begin(): void {
    if (this.#isStopped || this.#pending.size === 0) return;
    this.#running ??= this.#activateAll();
  }

  /** Begins, and resolves when each cluster was tried, or the time is up. Never rejects. */
  async awaited(): Promise<void> {
    this.begin();
    let cancel = (): void => undefined;
    const timeUp = new Promise<void>((resolve) => {
      cancel = this.#ports.clock.after(ACTIVATION_AWAITED_MS_MAX, resolve);
    });
    await Promise.race([this.#running, timeUp]);
    cancel();
  }

  /** Nothing comes to life any more. Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** Ends early where the database is away: the next round finds it back. */
  async #activateAll(): Promise<void> {
    const failed = new Set<ClusterId>();
    const came = new Arrivals(this.#ports.missed, this.#ports.leaseClockMs);
    let problem: unknown;
    for (let next = this.#next(failed); next.length > 0; next = this.#next(failed)) {
      try {
        await this.#activate(next, came);
      } catch (error) {
        problem = error;
        if (isAway(error)) break;
        for (const cluster of next) (next.length > 1 ? this.#alone : failed).add(cluster);
      } finally {
        came.add(0);
      }
    }
    came.end();
    this.#running = null;
    if (problem !== undefined && !this.isActivated()) this.#failed(problem);
  }

  #next(failed: ReadonlySet<ClusterId>): readonly ClusterId[] {
    if (this.#isStopped) return [];
    for (const cluster of this.#pending.keys()) if (!this.#ports.held.holds(cluster)) this.forget(cluster);
    const left = [...this.#pending.keys()].filter((cluster) => !failed.has(cluster));
    const together = left.filter((cluster) => !this.#alone.has(cluster));
    return together.length > 0 ? together.slice(0, ACTIVATED_TOGETHER_MAX) : left.slice(0, 1);
  }

  /**
   * Rejects with what the rows said: what came to life until then stays, and is not read again. What was read under a
   * lease that ended meanwhile is not used.
   */
  async #activate(clusters: readonly ClusterId[], came: Arrivals): Promise<void> {
    const { held, loader, directory } = this.#ports;
    const epochs = new Map(clusters.map((id) => [id, this.#epochOf(id)]));
    const isStill = (id: ClusterId): boolean =>
      !this.#isStopped && held.holds(id) && epochs.get(id) === this.#epochOf(id);
    const isHere = (id: NodeId): boolean => directory.isLocal({ kind: 'node', id });
    for (const state of await loader.clusters(clusters))
      if (isStill(state.id)) directory.activate({ kind: 'cluster', id: state.id }, state);
    for await (const read of loader.nodes(clusters, isHere)) {
      const nodes = read.filter(({ record }) => isStill(record.cluster));
      for (const state of nodes) directory.activate({ kind: 'node', id: state.record.id }, state);
      came.add(nodes.length);
      if (!clusters.some(isStill)) return;
    }
    for (const id of clusters) if (isStill(id)) this.forget(id);
  }

  #failed(error: unknown): void {
    const { log } = this.#ports;
    const clusters = this.#pending.size;
    if (error instanceof DatabaseUnavailable)
      log.warn({ clusters, error: error.message }, 'nodes of clusters could not be read: trying again');
    else log.error({ clusters, error }, 'bringing clusters to life failed: trying again');
  }

  #epochOf(cluster: ClusterId): number {
    return this.#ports.held.leaseOf(cluster).epoch;
  }
}

/** Whoever told nodes of something since they were read found nobody: that is looked for behind them, not too often. */
class Arrivals {
  readonly #missed: () => void;
  readonly #nowMs: () => number;
  #areNew = false;
  #lookedMs: number;

  constructor(missed: () => void, nowMs: () => number) {
    this.#missed = missed;
    this.#nowMs = nowMs;
    this.#lookedMs = nowMs();
  }

  /** So many came; 0: time has gone by. */
  add(nodes: number): void {
    this.#areNew ||= nodes > 0;
    if (this.#nowMs() - this.#lookedMs >= MISSED_MS_MAX) this.end();
  }

  end(): void {
    if (!this.#areNew) return;
    this.#areNew = false;
    this.#lookedMs = this.#nowMs();
    this.#missed();
  }
}
