/** Admins as the one that answers sees them. */
import type { PeerAdminResource } from '../../actors/resources/peer-admin.ts';
import type { PeerAdmin } from '../admin-ports.ts';
import type { OperationPorts } from '../ports.ts';

/** What an admin is, with how the one that answers gets to it. One that does not check in is not reached. */
export function linked(admin: PeerAdmin, { adminLink }: Pick<OperationPorts, 'adminLink'>): PeerAdminResource {
  const isThere = admin.status === 'live' || admin.status === 'draining';
  return { ...admin, link: isThere ? adminLink(admin.id) : null };
}
