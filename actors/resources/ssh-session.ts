/** Who is logged in to a node by SSH now, as clients see it. */
import { z } from 'zod';
import { SSH_OPEN_COUNTS, SSH_SESSIONS_TOLD_MAX } from '../../transport/protocol/ssh-sessions.ts';
import { resource, type Given } from './resource.ts';

const session = z.object({
  username: z.string(),
  account: z.string().describe('Of the machine.'),
  connected_at: z.iso.datetime().describe('By the clock of the admin, from how long ago it was by that of the agent.'),
  client_address: z
    .string()
    .nullable()
    .describe('As the agent sees it: of loopback where it came through an admin. Null: through the VPN, or not known.'),
  ...SSH_OPEN_COUNTS,
  is_recorded: z.boolean(),
});
/** One connection, with what is open on it. */
export type SshSessionResource = Given<typeof session>;

/** Those of one node. */
export const NodeSshSessionsResource = resource(
  'NodeSshSessions',
  'Who is logged in to a node by SSH, as its agent told when it was asked.',
  {
    node_id: z.uuid(),
    timestamp: z.iso.datetime().describe('When the node was asked.'),
    session_count: z.int().min(0).describe('All, also those that are not told.'),
    sessions: z
      .array(session)
      .max(SSH_SESSIONS_TOLD_MAX)
      .describe(`The latest first, at most ${SSH_SESSIONS_TOLD_MAX}.`),
  },
);
export type NodeSshSessionsResource = z.output<typeof NodeSshSessionsResource>;
