/** The row of an admin, as the admin itself keeps it. */
import type { Pool } from 'pg';
import { AdminRegistry, type AdminSelf } from '../../persistence/admins/admin-directory.ts';
import type { OwnUrl } from '../../persistence/admins/registration.ts';
import type { Database } from '../../persistence/connections/database.ts';
import { LINK_VERSION } from '../../transport/admins/protocol/version.ts';

/** Its registry. `nowMs`: by the clock of its machine. */
export function registryOf(
  database: Pick<Database, 'pool' | 'writes'>,
  name: string,
  {
    url = `http://${name}`,
    peerUrl = `http://${name}`,
    adminClusterName = 'default',
    maxWireguardPeers = 100,
    linkVersion = LINK_VERSION,
    mine = undefined as readonly OwnUrl[] | undefined,
    nowMs = (): number => Date.now(),
  } = {},
  urls: AdminSelf['urls'] = {
    own: () => url,
    peer: () => peerUrl,
    mine: () => mine ?? [{ url, setting: 'ADMIN_OWN_URL' }],
  },
): AdminRegistry {
  return new AdminRegistry(
    database,
    { name, urls, adminClusterName, version: '0.1.0', maxWireguardPeers, linkVersion },
    { nowMs },
  );
}

/** Admins that are in the list count as alive from now on: nobody checks in meanwhile. */
export async function keepAlive(pool: Pool): Promise<void> {
  await pool.query(`update admin set last_checked_in = clock_timestamp() + interval '1 hour'`);
}

/** Comes into the list in the place of whoever has its name. Answers the id. */
export async function arrived(registry: AdminRegistry): Promise<string> {
  const id = await registry.register(await registry.holder());
  if (id === null) throw new Error('another process was faster');
  return id;
}
