/** Where the admins' observers are: host names become addresses, since WireGuard knows no names. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { VpnObserver } from '../../transport/protocol/vpn.ts';

/** A peer that sees from where packets of this machine come. */
interface ObserverPeer {
  readonly publicKey: string;
  readonly endpoint: string;
}

/** The observers that are in force. None at first. */
export class Observers {
  readonly #changed: () => void;
  #found: readonly ObserverPeer[] = [];
  /** Counted: only the answer to the last look-up is taken. */
  #lookUps = 0;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get found(): readonly ObserverPeer[] {
    return this.#found;
  }

  /** The admin at this URL told of these. Never rejects. */
  async look(observers: readonly VpnObserver[], adminUrl: string): Promise<void> {
    this.#lookUps += 1;
    const asked = this.#lookUps;
    const found = await observerPeers(observers, adminUrl);
    if (asked !== this.#lookUps || JSON.stringify(found) === JSON.stringify(this.#found)) return;
    this.#found = found;
    this.#changed();
  }
}

/** Those that can be spoken to now; those whose names lead nowhere are left out. Never rejects. */
async function observerPeers(observers: readonly VpnObserver[], adminUrl: string): Promise<readonly ObserverPeer[]> {
  const found = await Promise.all(
    observers.map(async ({ host, port, public_key: publicKey }) => {
      const name = host ?? new URL(adminUrl).hostname.replaceAll(/^\[|\]$/gu, '');
      const address =
        isIP(name) !== 0
          ? name
          : await lookup(name).then(
              (one) => one.address,
              () => null,
            ); // the next settings bring another try
      return address === null
        ? []
        : [{ publicKey, endpoint: isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}` }];
    }),
  );
  return found.flat();
}
