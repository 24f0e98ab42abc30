/**
 * Keeps the VPNs of owned clusters as the rows have them: reads one when it changed, when it became ours, and now
 * and then anyway, and tells its actor.
 */
import type { Clock } from '../../actors/ports.ts';
import type { Log } from '../../transport/net/log.ts';
import type { ClusterMessage } from '../../actors/cluster/messages.ts';
import type { ClusterId } from '../../transport/protocol/ids.ts';
import type { HeldLeases } from '../ownership/held.ts';
import type { ClusterVpnRows, VpnWatch } from '../ports.ts';

/** Changes of one VPN within this time are read together, in ms: a member that joins makes several. */
export const GATHER_MS = 25;

/** Clusters read by one statement. */
export const CLUSTERS_PER_READ_MAX = 64;

/** How often it is looked for clusters that are newly owned, in ms. */
const LOOK_MS = 1_000;

/**
 * After so many looks every VPN is read although nobody said that it changed: in case a word was lost. Counted, as
 * clocks are set back.
 */
const LOOKS_UNTIL_ALL = 60;

/** Wait before a read that failed is tried again, in ms. */
const AGAIN_MS = 1_000;

/** What it needs. */
export interface VpnWatcherPorts {
  readonly rows: ClusterVpnRows;
  readonly held: Pick<HeldLeases, 'all' | 'holds'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tell: (cluster: ClusterId, message: ClusterMessage) => void;
}

/** The watcher. Nothing was read at first. */
export class VpnWatcher implements VpnWatch {
  readonly #ports: VpnWatcherPorts;
  readonly #waiting = new Set<ClusterId>();
  /** The epoch under which each was read last. */
  readonly #known = new Map<ClusterId, number>();
  #isReading = false;
  #isScheduled = false;
  #isStopped = false;
  #cancelLook = (): void => {};
  #looksLeft = 0;
  /** Of the last reading: above all that an earlier run of this admin can have told. */
  #number = 0;

  constructor(ports: VpnWatcherPorts) {
    this.#ports = ports;
  }

  readNow(cluster: ClusterId): void {
    if (this.#isStopped || !this.#ports.held.holds(cluster)) return;
    this.#waiting.add(cluster);
    this.#schedule(GATHER_MS);
  }

  /** The rows say that this VPN changed; null: any of them may have. */
  changed(cluster: ClusterId | null): void {
    if (cluster === null) this.#looksLeft = 0;
    else this.readNow(cluster);
  }

  start(): void {
    this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelLook();
  }

  #schedule(afterMs: number): void {
    if (this.#isScheduled || this.#isReading || this.#isStopped) return;
    this.#isScheduled = true;
    this.#ports.clock.after(afterMs, () => {
      this.#isScheduled = false;
      void this.#readWaiting();
    });
  }

  async #readWaiting(): Promise<void> {
    this.#isReading = true;
    const clusters = [...this.#waiting].slice(0, CLUSTERS_PER_READ_MAX);
    for (const cluster of clusters) this.#waiting.delete(cluster);
    let againMs = GATHER_MS;
    try {
      await this.#read(clusters);
    } catch (error) {
      this.#ports.log.warn({ error }, 'the VPNs of clusters could not be read: they are read again');
      for (const cluster of clusters) this.#waiting.add(cluster);
      againMs = AGAIN_MS;
    }
    this.#isReading = false;
    if (this.#waiting.size > 0) this.#schedule(againMs);
  }

  async #read(clusters: readonly ClusterId[]): Promise<void> {
    const { rows, clock, tell } = this.#ports;
    const epochs = this.#heldEpochs();
    const readings = await rows.read(clusters.filter((cluster) => epochs.has(cluster)));
    const still = this.#heldEpochs();
    for (const reading of readings) {
      const epoch = epochs.get(reading.cluster);
      // somebody else tells its members now (O1)
      if (epoch === undefined || still.get(reading.cluster) !== epoch) continue;
      this.#known.set(reading.cluster, epoch);
      this.#number = Math.max(this.#number + 1, clock.nowMs());
      tell(reading.cluster, { type: 'vpn-read', epoch, number: this.#number, reading });
    }
  }

  #heldEpochs(): ReadonlyMap<ClusterId, number> {
    return new Map(this.#ports.held.all().map(({ cluster, epoch }) => [cluster, epoch]));
  }

  #look(): void {
    const owned = this.#ports.held.all();
    const isAll = this.#looksLeft <= 0;
    this.#looksLeft = isAll ? LOOKS_UNTIL_ALL : this.#looksLeft - 1;
    for (const { cluster, epoch } of owned) if (isAll || this.#known.get(cluster) !== epoch) this.readNow(cluster);
    const ours = new Set(owned.map(({ cluster }) => cluster));
    for (const cluster of this.#known.keys()) if (!ours.has(cluster)) this.#known.delete(cluster);
    if (!this.#isStopped) this.#cancelLook = this.#ports.clock.after(LOOK_MS, () => this.#look());
  }
}
