/**
 * A node and its alias as clients see them. Tokens, passwords and VPN addresses are never among their fields (E4, R3).
 */
import { z } from 'zod';
import { NODE_STATUSES, type AliasResource, type NodeResource, type StatusEvidence } from '../../actors/resources.ts';
import { AgentPorts } from '../../transport/protocol/frames.ts';
import { MESH_PATHS } from '../../transport/protocol/mesh.ts';

const StatusEvidenceView: z.ZodType<StatusEvidence> = z.object({
  observed_at: z.iso.datetime().describe('When it was so: at the last change of the status or its reason.'),
  session: z
    .object({ connected_at: z.iso.datetime() })
    .nullable()
    .describe('The live session; null when there was none.'),
  last_report_at: z.iso.datetime().nullable(),
  services: z.array(z.object({ name: z.string(), problem: z.string() })).describe('Services that do not work.'),
  vpn: z
    .object({ handshake_age_ms: z.number().nullable(), path: z.enum(MESH_PATHS) })
    .nullable()
    .describe('The mesh; null where the node is in none.'),
});

/** A node: the fields of `NodeResource`. */
export const NodeView: z.ZodType<NodeResource> = z
  .object({
    id: z.uuid(),
    cluster_name: z.string(),
    status: z.enum(NODE_STATUSES),
    status_since: z.iso.datetime().describe('When this status began.'),
    status_reason: z.string().nullable().describe('Why it is not healthy, in one sentence.'),
    status_evidence: StatusEvidenceView.nullable().describe(
      'What the status rests on; null until the node was connected for the first time.',
    ),
    version: z.string(),
    id_type: z.enum(['persistent', 'random']),
    vpn_hostname: z.string(),
    aliases: z.array(z.object({ id: z.uuid(), name: z.string(), vpn_hostname: z.string() })),
    ...AgentPorts.shape,
    self_update_enabled: z.boolean(),
    enrollment_key_id: z.uuid().nullable(),
    last_seen_at: z.iso.datetime().nullable(),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Node', description: 'A machine whose agent is enrolled in a cluster.' });

/** An alias: the fields of `AliasResource`. */
export const AliasView: z.ZodType<AliasResource> = z
  .object({
    id: z.uuid(),
    name: z.string(),
    node_id: z.uuid(),
    cluster_name: z.string(),
    vpn_hostname: z.string(),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Alias', description: 'A friendly name of a node, unique in its cluster.' });

/** What creating a recovery key answers. */
export const RecoveryKeyView: z.ZodType<{ readonly recovery_key: string }> = z
  .object({
    recovery_key: z.string().describe('Shown this once.'),
  })
  .meta({ id: 'RecoveryKey', description: 'Lets an installation that lost its data take its node up again, once.' });
