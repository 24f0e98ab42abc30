/** Where the admins' observers are: host names become addresses, since WireGuard knows no names. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { VpnObserver } from '../../transport/protocol/vpn.ts';

/** A peer that sees from where packets of this machine come. */
export interface ObserverPeer {
  readonly publicKey: string;
  readonly endpoint: string;
}

/**
 * Observers that can be spoken to now; those whose names lead nowhere are left out. `adminUrl`: of the admin that told
 * of them. Never rejects.
 */
export async function observerPeers(
  observers: readonly VpnObserver[],
  adminUrl: string,
): Promise<readonly ObserverPeer[]> {
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
