/**
 * A node and its alias as clients see them. Tokens, passwords and VPN addresses are never among their fields (E4, R3).
 */
import { z } from 'zod';
import { AgentPorts, Registration } from '../../transport/protocol/agent-description.ts';
import { NodeFacts } from '../../transport/protocol/facts.ts';
import { VPN_PATHS } from '../../transport/protocol/vpn.ts';
import { resource, stored, type Given } from './resource.ts';

/** All statuses of a node, best first. Source: docs/api.md, Resources. */
export const NODE_STATUSES = ['healthy', 'unhealthy', 'unreachable'] as const;
/** How a node is. Source: docs/health.md. */
export type NodeStatus = (typeof NODE_STATUSES)[number];

/** In the agent's own words: one sentence without addresses. */
const problem = z.object({ name: z.string(), problem: z.string() });
/** A service that does not work. */
export type ServiceProblem = Given<typeof problem>;

/**
 * The age is that of the last handshake with the gateway of its cluster; null when there was none, or there is no
 * gateway. The path is how packets go to that gateway; without one, the best way to any other member.
 */
const vpn = z.object({ handshake_age_ms: z.number().nullable(), path: z.enum(VPN_PATHS) });
/** How well a node is connected to the VPN. */
export type VpnEvidence = Given<typeof vpn>;

const evidence = z.object({
  observed_at: z.iso.datetime().describe('When it was so: at the last change of the status or its reason.'),
  session: z
    .object({ connected_at: z.iso.datetime() })
    .nullable()
    .describe('The live session; null when there was none.'),
  last_report_at: z.iso.datetime().nullable(),
  services: z.array(problem).describe('Services that do not work.'),
  vpn: vpn.nullable().describe('Its place in the VPN of its cluster; null where the node is in none.'),
});
/** What the status of a node rests on, as it was at `observed_at`: stored when the status or its reason changes. */
export type StatusEvidence = Given<typeof evidence>;

/** Labels as resources show them: their syntax was checked when they came. */
export const nodeLabels = z.record(z.string(), z.string()).describe('Labels by their keys.');

/** A node. Its status reason is without secrets and addresses. */
export const NodeResource = resource('Node', 'A machine whose agent is enrolled in a cluster.', {
  id: z.uuid(),
  name: z
    .string()
    .describe(
      'What people call it: its first alias, else the name of its machine, else the first 8 characters of its id. Not unique.',
    ),
  cluster_name: z.string(),
  status: z.enum(NODE_STATUSES),
  status_since: z.iso.datetime().describe('When this status began.'),
  status_reason: z
    .string()
    .nullable()
    .describe('Why it is not healthy, or by which admin its session is relayed, in one sentence.'),
  status_evidence: evidence
    .nullable()
    .describe('What the status rests on; null until the node was connected for the first time.'),
  version: z.string(),
  id_type: Registration.shape.id_type,
  vpn_hostname: z.string(),
  aliases: z.array(z.object({ id: z.uuid(), name: z.string(), vpn_hostname: z.string() })),
  ...AgentPorts.shape,
  self_update_enabled: z.boolean(),
  enrollment_key_id: z.uuid().nullable(),
  facts: NodeFacts.nullable().describe('What its agent says of its machine; null while it says nothing.'),
  labels: nodeLabels,
  last_seen_at: z.iso.datetime().nullable(),
  ...stored,
});
export type NodeResource = z.output<typeof NodeResource>;

/** An alias. */
export const AliasResource = resource('Alias', 'A friendly name of a node, unique in its cluster.', {
  id: z.uuid(),
  name: z.string(),
  node_id: z.uuid(),
  cluster_name: z.string(),
  vpn_hostname: z.string(),
  ...stored,
});
export type AliasResource = z.output<typeof AliasResource>;

/** What creating a recovery key answers. */
export const RecoveryKeyResource = resource(
  'RecoveryKey',
  'Lets an installation that lost its data take its node up again, once.',
  { recovery_key: z.string().describe('Shown this once.') },
);
export type RecoveryKeyResource = z.output<typeof RecoveryKeyResource>;
