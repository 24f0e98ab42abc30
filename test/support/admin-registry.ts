/** The row of an admin, as the admin itself keeps it. */
import type { MikroORM } from '@mikro-orm/postgresql';
import { AdminRegistry } from '../../persistence/admin-directory.ts';

/** Its registry. `nowMs`: by the clock of its machine. */
export function registryOf(
  orm: MikroORM,
  name: string,
  {
    url = `http://${name}`,
    adminClusterName = 'default',
    maxWireguardPeers = 100,
    nowMs = (): number => Date.now(),
  } = {},
): AdminRegistry {
  return new AdminRegistry(orm, { name, url, adminClusterName, version: '0.1.0', maxWireguardPeers }, { nowMs });
}
