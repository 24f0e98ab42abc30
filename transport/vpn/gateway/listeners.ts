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

/** All of them. */
export interface Listeners {
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
  let raised = { for: '', atMs: -Infinity };
  let problem: string | null = null;
  let isThere = false;
  let isClosed = false;

  async function raise(): Promise<void> {
    const open = [...listeners.values()].map(({ ipv4, port }) => ({ ipv4, port }));
    const of = JSON.stringify(open);
    if (of === raised.for && monotonicMs() - raised.atMs < FIREWALL_AGAIN_MS) return;
    problem = await firewall.raise(open);
    if (problem === null) raised = { for: of, atMs: monotonicMs() };
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
    urlOf: (cluster) => (isThere ? (listeners.get(cluster)?.url ?? null) : null),
    close() {
      isClosed = true;
      for (const listener of listeners.values()) listener.close();
      listeners.clear();
    },
  };
}
