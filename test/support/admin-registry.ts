/** The row of an admin, as the admin itself keeps it. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { AdminRegistry } from '../../persistence/admin-directory.ts';
import { LINK_VERSION } from '../../transport/admins/protocol/version.ts';

/** Its registry. `nowMs`: by the clock of its machine. */
export function registryOf(
  orm: MikroORM,
  name: string,
  {
    url = `http://${name}`,
    peerUrl = `http://${name}`,
    adminClusterName = 'default',
    maxWireguardPeers = 100,
    linkVersion = LINK_VERSION,
    nowMs = (): number => Date.now(),
  } = {},
): AdminRegistry {
  const urls = { own: () => url, peer: () => peerUrl };
  return new AdminRegistry(
    orm,
    { name, urls, adminClusterName, version: '0.1.0', maxWireguardPeers, linkVersion },
    { nowMs },
  );
}
