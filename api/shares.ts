/**
 * Places that many want: some in all, and of these a share for one key and one for one address, so that nobody has them
 * all.
 */
import { Places } from '../transport/net/places.ts';
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
  const byKey = new Places({ placesMax, ofOneMax: ofOneKeyMax });
  const byAddress = new Places({ ofOneMax: ofOneAddressMax });

  return {
    take(principal, address) {
      const leaveKey = byKey.take(principal);
      if (leaveKey === null) return null;
      const leaveAddress = byAddress.take(sourceNetwork(address));
      if (leaveAddress === null) {
        leaveKey();
        return null;
      }
      return () => {
        leaveKey();
        leaveAddress();
      };
    },
  };
}
