/** What a caller is told when a constraint of the database refuses a write. */
import type { Refusal } from '../../actors/refusal.ts';

/** By the name of the constraint. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  cluster_name_taken: { code: 'conflict', message: 'A cluster with this name exists already.' },
  cluster_ipv4_overlap: { code: 'conflict', message: 'The IPv4 range overlaps with that of another cluster.' },
  cluster_ipv6_overlap: { code: 'conflict', message: 'The IPv6 range overlaps with that of another cluster.' },
  alias_name_taken: { code: 'conflict', message: 'A node of the cluster has this alias already.' },
  mesh_member_public_key_taken: {
    code: 'conflict',
    message: 'Another node has this WireGuard key: a key is made on one machine and never copied.',
  },
  ssh_username_taken: { code: 'conflict', message: 'The node has an SSH username of this name already.' },
  ssh_public_key_taken: { code: 'conflict', message: 'The SSH username has this key already.' },
  ssh_username_node_id_foreign: { code: 'not_found', message: 'Resource not found' },
  ssh_public_key_ssh_username_id_foreign: { code: 'not_found', message: 'Resource not found' },
  node_cluster_id_foreign: { code: 'conflict', message: 'The cluster does not exist any more.' },
  enrollment_key_cluster_id_foreign: { code: 'conflict', message: 'The cluster does not exist any more.' },
  node_enrollment_key_id_foreign: { code: 'invalid_key', message: 'The enrollment key is not valid.' },
  node_pkey: { code: 'conflict', message: 'A node with this id is already enrolled.' },
};

/** The refusal behind an error; null when it is none of ours. Looks through causes, because MikroORM wraps. */
export function refusalOf(error: unknown): Refusal | null {
  if (!(error instanceof Error)) return null;
  const { constraint } = error as { constraint?: unknown };
  if (typeof constraint === 'string' && REFUSALS[constraint] !== undefined) return REFUSALS[constraint];
  return refusalOf(error.cause);
}
