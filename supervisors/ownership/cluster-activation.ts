/** Clusters that came to this admin, and whose actors are brought to life from their rows. */
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { Loader } from '../ports.ts';
import type { Directory } from '../runtime/directory.ts';
import type { HeldLeases } from './held.ts';
import type { Owned } from './lease-port.ts';

/** From where to where. */
export interface ClusterActivationPorts {
  readonly held: Pick<HeldLeases, 'hold' | 'leaseOf'>;
  readonly loader: Pick<Loader, 'clusters' | 'nodes'>;
  readonly directory: Pick<Directory, 'activate'>;
  /** The database answered. Returns at once. */
  readonly answered: () => void;
  /**
   * What nodes were told while their actors came to life found nobody: it is looked for in the rows. Returns at once.
   */
  readonly missed: () => void;
}

/** Nothing has to be activated at first. */
export class ClusterActivation {
  readonly #ports: ClusterActivationPorts;
  /** Held, and their actors are not all here: reading their rows failed, or goes on. */
  readonly #pending = new Set<ClusterId>();

  constructor(ports: ClusterActivationPorts) {
    this.#ports = ports;
  }

  /** Granted by a request that was sent at this time of the lease clock. Answers those that were not held yet. */
  gained(owned: readonly Owned[], sentAtMs: number): readonly Owned[] {
    const { held } = this.#ports;
    const fresh = owned.filter(({ cluster, epoch }) => held.leaseOf(cluster).epoch !== epoch);
    for (const { cluster, epoch } of owned) held.hold(cluster, epoch, sentAtMs);
    for (const { cluster } of fresh) this.#pending.add(cluster);
    return fresh;
  }

  isActivated(cluster?: ClusterId): boolean {
    return cluster === undefined ? this.#pending.size === 0 : !this.#pending.has(cluster);
  }

  forget(cluster: ClusterId): void {
    this.#pending.delete(cluster);
  }

  /**
   * Brings their actors to life. Rejects with DatabaseUnavailable: what is left is tried with the next call. What was
   * read under a lease that ended meanwhile is not used.
   */
  async activate(): Promise<void> {
    const { loader, directory, answered, missed } = this.#ports;
    const ids = [...this.#pending];
    if (ids.length === 0) return;
    const epochs = new Map(ids.map((id) => [id, this.#epochOf(id)]));
    const isStill = (id: ClusterId): boolean => epochs.get(id) === this.#epochOf(id) && this.#pending.has(id);
    const clusters = await loader.clusters(ids);
    answered();
    for (const state of clusters) if (isStill(state.id)) directory.activate({ kind: 'cluster', id: state.id }, state);
    const nodes = await loader.nodes(ids);
    answered();
    for (const state of nodes)
      if (isStill(state.record.cluster)) directory.activate({ kind: 'node', id: state.record.id }, state);
    for (const id of ids) if (isStill(id)) this.#pending.delete(id);
    missed(); // whoever told their nodes of something since they were read found nobody
  }

  #epochOf(cluster: ClusterId): number {
    return this.#ports.held.leaseOf(cluster).epoch;
  }
}
