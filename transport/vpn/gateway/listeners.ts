/**
 * The gateway's listeners and the firewall around them: one listener a VPN, where agents open tunnels over the VPN, and
 * nothing else is reached.
 */
import type { ClusterId } from '../../protocol/ids.ts';
import { openListener } from './entrance.ts';
import type { OpenListener, TunnelUpgrade } from './entrance.ts';
import type { Firewall } from './firewall.ts';

/** Rules that somebody else took away, as a firewall that is loaded again does, stand again after this, in ms. */
const FIREWALL_AGAIN_MS = 5_000;

/**
 * Rules that could not be set so often, one time after the other, over so long, in ms, may be gone, and members may
 * reach what else this machine serves. More than once, as a machine that is busy may let nft run out of time.
 */
const FIREWALL_FAILURES_MAX = 3;
const FIREWALL_GONE_MS = 3_000;

/** All of them. */
export interface Listeners {
  /** Closes those of other VPNs. */
  keep(addresses: ReadonlyMap<ClusterId, string>): void;
  /**
   * Opens what is not open, as far as its address is there. Null: nothing stands in the way; else one sentence. Never
   * rejects.
   */
  settle(addresses: ReadonlyMap<ClusterId, string>): Promise<string | null>;
  /** Whether the firewall could not be put up for so long that members may reach more than the listeners. */
  isExposed(): boolean;
  /** Null: it is not open, or the interface is gone. */
  urlOf(cluster: ClusterId): string | null;
  /** Cuts what came in. They may be opened again, behind a firewall that stands as at first. */
  leave(): void;
  /** The same, for good. */
  close(): void;
}

/** No rules were set, and none failed. */
const NOTHING_RAISED = { for: '', atMs: -Infinity, failures: 0, failingSinceMs: Infinity };

/** None is open at first; the firewall stands already. */
export function createListeners({
  firewall,
  upgrade,
  monotonicMs,
}: {
  readonly firewall: Firewall;
  readonly upgrade: TunnelUpgrade;
  readonly monotonicMs: () => number;
}): Listeners {
  const listeners = new Map<ClusterId, OpenListener>();
  let raised = NOTHING_RAISED;
  let problem: string | null = null;
  let isThere = false;
  let isClosed = false;

  async function raise(): Promise<void> {
    const open = [...listeners.values()].map(({ ipv4, port }) => ({ ipv4, port }));
    const of = JSON.stringify(open);
    if (of === raised.for && monotonicMs() - raised.atMs < FIREWALL_AGAIN_MS) return;
    const beganMs = monotonicMs();
    problem = await firewall.raise(open);
    raised =
      problem === null
        ? { ...NOTHING_RAISED, for: of, atMs: monotonicMs() }
        : {
            ...raised,
            failures: raised.failures + 1,
            failingSinceMs: Math.min(raised.failingSinceMs, beganMs),
          };
  }

  function leave(): void {
    for (const listener of listeners.values()) listener.close();
    listeners.clear();
    raised = NOTHING_RAISED;
    problem = null;
  }

  return {
    keep(addresses) {
      for (const [cluster, listener] of listeners) {
        if (addresses.get(cluster) === listener.ipv4) continue;
        listeners.delete(cluster);
        listener.close();
      }
    },
    async settle(addresses) {
      isThere = await firewall.holdApart();
      for (const [cluster, ipv4] of addresses) {
        if (listeners.has(cluster)) continue;
        const listener = await openListener(ipv4, upgrade);
        // its address appears a moment after the interface, or never where the system refuses it: in the next round
        if (listener === null) continue;
        if (isClosed) listener.close();
        else listeners.set(cluster, listener);
      }
      await raise();
      return problem;
    },
    isExposed: () =>
      raised.failures >= FIREWALL_FAILURES_MAX && monotonicMs() - raised.failingSinceMs >= FIREWALL_GONE_MS,
    urlOf: (cluster) => (isThere ? (listeners.get(cluster)?.url ?? null) : null),
    leave,
    close() {
      isClosed = true;
      leave();
    },
  };
}
