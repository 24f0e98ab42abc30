/** A cluster as clients see it. */
import { z } from 'zod';
import { NODE_STATUSES } from './node.ts';
import { resource, stored, type Given } from './resource.ts';

const node = z.object({
  id: z.uuid(),
  status: z.enum(NODE_STATUSES),
  vpn_hostname: z.string(),
  enrollment_key_id: z.uuid().nullable(),
});

/** A node, as its cluster lists it. */
export type ClusterNode = Given<typeof node>;

/** A cluster. */
export const ClusterResource = resource('Cluster', 'A group of nodes that form one VPN, a full mesh.', {
  id: z.uuid(),
  name: z.string(),
  network_name: z.string(),
  vpn_domain: z.string(),
  ipv4_range: z.string(),
  ipv6_range: z.string(),
  node_limit: z.int().nullable(),
  node_count: z.int(),
  nodes: z.array(node).max(100).optional().describe('On single reads only, at most 100.'),
  ...stored,
});
export type ClusterResource = z.output<typeof ClusterResource>;
