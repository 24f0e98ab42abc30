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

/** The watcher, not started. */
export interface VpnWatcher extends VpnWatch {
  /** The rows say that this VPN changed; null: any of them may have. */
  changed(cluster: ClusterId | null): void;
  start(): void;
  stop(): void;
}

/** Nothing was read at first. */
export function createVpnWatcher({ rows, held, clock, log, tell }: VpnWatcherPorts): VpnWatcher {
  const waiting = new Set<ClusterId>();
  /** The epoch under which each was read last. */
  const known = new Map<ClusterId, number>();
  let isReading = false;
  let isScheduled = false;
  let isStopped = false;
  let cancelLook = (): void => {};
  let looksLeft = 0;
  /** Of the last reading: above all that an earlier run of this admin can have told. */
  let number = 0;

  function want(cluster: ClusterId): void {
    if (isStopped || !held.holds(cluster)) return;
    waiting.add(cluster);
    schedule(GATHER_MS);
  }

  function schedule(afterMs: number): void {
    if (isScheduled || isReading || isStopped) return;
    isScheduled = true;
    clock.after(afterMs, () => {
      isScheduled = false;
      void readWaiting();
    });
  }

  async function readWaiting(): Promise<void> {
    isReading = true;
    let againMs = GATHER_MS;
    const epochs = heldEpochs();
    const clusters = [...waiting].slice(0, CLUSTERS_PER_READ_MAX);
    for (const cluster of clusters) waiting.delete(cluster);
    try {
      const readings = await rows.read(clusters.filter((cluster) => epochs.has(cluster)));
      const still = heldEpochs();
      for (const reading of readings) {
        const epoch = epochs.get(reading.cluster);
        // somebody else tells its members now (O1)
        if (epoch === undefined || still.get(reading.cluster) !== epoch) continue;
        known.set(reading.cluster, epoch);
        number = Math.max(number + 1, clock.nowMs());
        tell(reading.cluster, { type: 'mesh-read', epoch, number, reading });
      }
    } catch (error) {
      log.warn({ error }, 'the VPNs of clusters could not be read: they are read again');
      for (const cluster of clusters) waiting.add(cluster);
      againMs = AGAIN_MS;
    }
    isReading = false;
    if (waiting.size > 0) schedule(againMs);
  }

  function heldEpochs(): ReadonlyMap<ClusterId, number> {
    return new Map(held.all().map(({ cluster, epoch }) => [cluster, epoch]));
  }

  function look(): void {
    const owned = held.all();
    const isAll = looksLeft <= 0;
    looksLeft = isAll ? LOOKS_UNTIL_ALL : looksLeft - 1;
    for (const { cluster, epoch } of owned) if (isAll || known.get(cluster) !== epoch) want(cluster);
    const ours = new Set(owned.map(({ cluster }) => cluster));
    for (const cluster of known.keys()) if (!ours.has(cluster)) known.delete(cluster);
    if (!isStopped) cancelLook = clock.after(LOOK_MS, look);
  }

  return {
    readNow: want,
    changed(cluster) {
      if (cluster === null) looksLeft = 0;
      else want(cluster);
    },
    start: look,
    stop() {
      isStopped = true;
      cancelLook();
    },
  };
}
