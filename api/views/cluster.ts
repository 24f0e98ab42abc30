/** A cluster as clients see it. */
import { z } from 'zod';
import { NODE_STATUSES, type ClusterResource } from '../../actors/resources.ts';

const ClusterNode = z.object({
  id: z.uuid(),
  status: z.enum(NODE_STATUSES),
  vpn_hostname: z.string(),
  enrollment_key_id: z.uuid().nullable(),
});

/** A cluster: the fields of `ClusterResource`. */
export const ClusterView: z.ZodType<ClusterResource> = z
  .object({
    id: z.uuid(),
    name: z.string(),
    network_name: z.string(),
    vpn_domain: z.string(),
    ipv4_range: z.string(),
    ipv6_range: z.string(),
    node_limit: z.int().nullable(),
    node_count: z.int(),
    nodes: z.array(ClusterNode).max(100).optional().describe('On single reads only, at most 100.'),
    inserted_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Cluster', description: 'A group of nodes that form one mesh.' });
