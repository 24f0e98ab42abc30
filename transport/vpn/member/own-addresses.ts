/** The addresses of this machine, as they change under a member. */
import type { OwnPlace } from './candidates.ts';
import { localAddresses, takenRanges, type Interfaces } from './local-endpoints.ts';

/** Where it looks. */
export interface OwnAddressesOptions {
  readonly listenPort: number;
  readonly interfaceName: string;
  readonly interfaces: () => Interfaces;
}

/** What a look found new. */
export interface AddressesFound {
  /** Others than before. */
  readonly isMoved: boolean;
  /** One that was there is not. */
  readonly isOneGone: boolean;
  /** Other ranges of the VPN are taken than before. */
  readonly isTakenOtherwise: boolean;
}

/** None before the first look. */
export class OwnAddresses {
  readonly #options: OwnAddressesOptions;
  #place: OwnPlace;
  #taken: ReadonlySet<string> = new Set();

  constructor(options: OwnAddressesOptions) {
    this.#options = options;
    this.#place = { addresses: [], listenPort: options.listenPort, vpnRanges: [] };
  }

  get place(): OwnPlace {
    return this.#place;
  }

  /** Addresses in the VPN that the member goes without, as the machine has others of their range. */
  get taken(): ReadonlySet<string> {
    return this.#taken;
  }

  look(vpnRanges: readonly string[]): AddressesFound {
    const { interfaces, interfaceName, listenPort } = this.#options;
    const now = interfaces();
    const before = this.#place;
    const takenBefore = this.#taken;
    this.#taken = takenRanges(now, interfaceName, vpnRanges);
    const inside = vpnRanges.filter((range) => !this.#taken.has(range));
    const addresses = localAddresses(now, interfaceName, inside);
    const place = { addresses, listenPort, vpnRanges: inside };
    const isMoved = JSON.stringify(place) !== JSON.stringify(before);
    // the same one otherwise: what was found out for it is still true
    if (isMoved) this.#place = place;
    return {
      isMoved,
      isOneGone: before.addresses.some((address) => !addresses.includes(address)),
      isTakenOtherwise: JSON.stringify([...this.#taken]) !== JSON.stringify([...takenBefore]),
    };
  }
}
