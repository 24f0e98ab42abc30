/** Settings of an admin as one of several: its name, its peers, and when they and their nodes are taken for gone. */
import { WIREGUARD_PEERS_MAX } from '../transport/protocol/wireguard.ts';
import { durationMs, integer, text } from './fields.ts';
import { label } from './names.ts';

/** This admin. */
export const FLEET_SETTINGS = {
  ADMIN_NAME: label(63)
    .optional()
    .meta({ defaultText: 'the host name', description: 'Name of this admin, its own among its peers.' }),
  ADMIN_CLUSTER_NAME: label(63)
    .default('default')
    .describe(
      'Name of the group of admins that share one database: the same for all of them. An admin of another name does not start while they run.',
    ),
  ADMIN_MAX_WIREGUARD_PEERS: integer({ min: 1, max: WIREGUARD_PEERS_MAX })
    .default(20_000)
    .describe('Peers that this admin may have, admins and nodes together.'),
  CORE_NAME: text({ max: 128 }).default('default').describe('Name of this service in the events it publishes.'),
  ADMIN_BALANCE_AFTER_MS: durationMs({ min: 1_000, max: 86_400_000 })
    .default(60_000)
    .describe('An admin that joins is given its share of the clusters after this time. Set it alike at every admin.'),
  ADMIN_FORGET_AFTER_MS: durationMs({ min: 5_000, max: 2_592_000_000 })
    .default(3_600_000)
    .describe('An admin that has not checked in for so long is removed from the list.'),
  NODE_UNREACHABLE_AFTER_MS: durationMs({ min: 1_000, max: 3_600_000 })
    .default(30_000)
    .describe('Silence after which a node is unreachable.'),
  RANDOM_NODE_FORGET_AFTER_MS: durationMs({ min: 0, max: 31_536_000_000 })
    .default(0)
    .describe(
      'A node of AGENT_ID_TYPE=random that has been unreachable and not seen for so long is deleted, with its open executions dropped; 0 keeps all of them.',
    ),
  NODE_STATUS_DAMPING_MS: durationMs({ min: 0, max: 300_000 })
    .default(30_000)
    .describe(
      'A node whose status changes often is told as better once it has been so for this long; 0 tells it at once.',
    ),
};

/** A name by which the API calls whichever admin answers: GET /api/v1/admins/me. */
const THIS_ADMIN = 'me';

/** What is wrong with the name that an admin comes to, which may be that of its machine. */
export function adminNameProblems(name: string): readonly string[] {
  return name === THIS_ADMIN
    ? [`ADMIN_NAME is "${name}": it should be another name, as the API calls the admin that answers so`]
    : [];
}
