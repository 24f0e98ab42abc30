/**
 * Places that many want: some in all, and of these a share for one key and one for one address, so that nobody has them
 * all.
 */
import { sourceNetwork } from '../transport/net/source-networks.ts';
import type { Principal } from './surface.ts';

/** How many there are, and of these for one key and one address. Whoever needs no key counts by address. */
export interface ShareLimits {
  readonly placesMax: number;
  readonly ofOneKeyMax: number;
  readonly ofOneAddressMax: number;
}

/** Places, taken and given back. */
export interface Shares {
  /** A place; what gives it back, once. Null: there is none, or its key or address has its share. */
  take(principal: Principal, address: string): (() => void) | null;
}

/** Places with nobody in them. */
export function createShares({ placesMax, ofOneKeyMax, ofOneAddressMax }: ShareLimits): Shares {
  const byKey = new Map<string, number>();
  const byAddress = new Map<string, number>();
  let taken = 0;

  return {
    take(principal, address) {
      const network = sourceNetwork(address);
      const [ofKey, ofAddress] = [byKey.get(principal) ?? 0, byAddress.get(network) ?? 0];
      if (taken >= placesMax || ofKey >= ofOneKeyMax || ofAddress >= ofOneAddressMax) return null;
      taken += 1;
      byKey.set(principal, ofKey + 1);
      byAddress.set(network, ofAddress + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        taken -= 1;
        giveBack(byKey, principal);
        giveBack(byAddress, network);
      };
    },
  };
}

function giveBack(counts: Map<string, number>, name: string): void {
  const left = (counts.get(name) ?? 0) - 1;
  if (left > 0) counts.set(name, left);
  else counts.delete(name);
}
