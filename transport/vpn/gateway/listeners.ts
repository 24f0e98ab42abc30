/**
 * The gateway's listeners and the firewall around them: one listener a VPN, where agents open tunnels over the VPN, and
 * nothing else is reached.
 */
import type { ClusterId } from '../../protocol/ids.ts';
import { openListener } from './entrance.ts';
import type { OpenListener, TunnelUpgrade } from './entrance.ts';
import type { Firewall } from './firewall.ts';
import { RaisedRules } from './raised-rules.ts';

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
  const rules = new RaisedRules(firewall, monotonicMs);
  let isThere = false;
  let isClosed = false;

  function leave(): void {
    for (const listener of listeners.values()) listener.close();
    listeners.clear();
    rules.forget();
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
      return rules.raise([...listeners.values()].map(({ ipv4, port }) => ({ ipv4, port })));
    },
    isExposed: () => rules.areGone,
    urlOf: (cluster) => (isThere ? (listeners.get(cluster)?.url ?? null) : null),
    leave,
    close() {
      isClosed = true;
      leave();
    },
  };
}
