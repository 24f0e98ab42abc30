/** Events of nodes. Each carries the whole node, and what it was before where it changed. */
import { z } from 'zod';
import { Registration } from '../../transport/protocol/agent-description.ts';
import { NodeFacts } from '../../transport/protocol/facts.ts';
import { NODE_STATUSES } from '../resources/node.ts';
import { eventType, id, instantOrNull, instantText } from './definition.ts';
import { EXAMPLE_CLUSTER, EXAMPLE_IDS, EXAMPLE_TIMES } from './examples.ts';

const status = z.enum(NODE_STATUSES);
const version = z.string();
const port = z.int().min(1).max(65_535);

/** A node at the moment of the event. Source: docs/events.md. */
export const NodeSnapshot = z.strictObject({
  node_id: id('The node, chosen by its agent and kept for the life of its data.'),
  name: z
    .string()
    .describe('What people call it: an alias, else the name of its machine, else the beginning of its id.'),
  cluster_name: z.string().describe('The cluster that it is in now.'),
  status: status.describe('Its health now.'),
  version: version.describe('Version of its agent.'),
  id_type: Registration.shape.id_type.describe('Whether its id outlives a restart.'),
  http_port: port.describe('Port of the agent’s API.'),
  ssh_port: port.describe('Port of its SSH server.'),
  host_metrics_port: port.describe('Port of its host metrics.'),
  wireguard_metrics_port: port.describe('Port of its WireGuard metrics.'),
  http_proxy_port: port.describe('Port of its HTTP proxy.'),
  socks5_proxy_port: port.describe('Port of its SOCKS5 proxy.'),
  self_update_enabled: z.boolean().describe('Whether it takes part in self-updates.'),
  facts: NodeFacts.strict().nullable().describe('What its agent says of its machine. Null while it says nothing.'),
  labels: z.record(z.string(), z.string()).describe('Its labels by their keys.'),
  last_seen_at: instantOrNull('When it was last heard of. Null before its first session.'),
  inserted_at: instantText('When it first enrolled.'),
  updated_at: instantText('When anything of the above last changed.'),
});
/** Its type. */
export type NodeSnapshot = Readonly<z.output<typeof NodeSnapshot>>;

const node: NodeSnapshot = {
  node_id: EXAMPLE_IDS.node,
  name: 'press-7',
  cluster_name: EXAMPLE_CLUSTER,
  status: 'healthy',
  version: '0.1.0',
  id_type: 'persistent',
  http_port: 44_000,
  ssh_port: 40_022,
  host_metrics_port: 49_100,
  wireguard_metrics_port: 49_586,
  http_proxy_port: 43_128,
  socks5_proxy_port: 41_080,
  self_update_enabled: true,
  facts: {
    hostname: 'press-7',
    os: 'debian',
    os_version: '13',
    os_name: 'Debian GNU/Linux 13 (trixie)',
    kernel: '6.12.48+deb13-amd64',
    arch: 'x86_64',
    cpu_model: 'Intel(R) N100',
    cpu_count: 4,
    memory_bytes: 8_124_899_328,
    virtualization: 'none',
    boot_id: '5f0c7e1e-2f0a-4c43-9a60-6b1d2c3e4f50',
    time_zone: 'Europe/Berlin',
    ssh_host_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKgk5P6xTLqJ2mVd0bYz3uR9cWn7eHs1oFqXtB4vGyZa',
  },
  labels: { env: 'prod', line: '7' },
  last_seen_at: EXAMPLE_TIMES.created,
  inserted_at: EXAMPLE_TIMES.enrolled,
  updated_at: EXAMPLE_TIMES.created,
};

/** By type. */
export const NODE_EVENTS = {
  'edge.node.registered': eventType({
    description: 'A node with a new id enrolled for the first time.',
    data: NodeSnapshot,
    example: {
      time: EXAMPLE_TIMES.enrolled,
      data: { ...node, status: 'unreachable', last_seen_at: null, updated_at: EXAMPLE_TIMES.enrolled },
    },
  }),
  'edge.node.reregistered': eventType({
    description:
      'A node that was known before enrolled again, or its agent said something new of itself or its machine.',
    data: NodeSnapshot,
    example: { time: EXAMPLE_TIMES.created, data: node },
  }),
  'edge.node.version_changed': eventType({
    description: 'A node registered again with another agent version. Comes along with edge.node.reregistered.',
    data: NodeSnapshot.extend({ previous_version: version.describe('Version of its agent before.') }),
    example: { time: EXAMPLE_TIMES.created, data: { ...node, previous_version: '0.0.9' } },
  }),
  'edge.node.status_changed': eventType({
    description:
      'The health of a node changed among healthy, unhealthy and unreachable. Every admin that observes it publishes its own; those agree in node_id, previous_status, status and time.',
    data: NodeSnapshot.extend({ previous_status: status.describe('Its health before.') }),
    example: { time: EXAMPLE_TIMES.created, data: { ...node, previous_status: 'unreachable' } },
  }),
  'edge.node.cluster_changed': eventType({
    description: 'A node was moved to another cluster.',
    data: NodeSnapshot.extend({ previous_cluster_name: z.string().describe('The cluster that it was in before.') }),
    example: { time: EXAMPLE_TIMES.created, data: { ...node, previous_cluster_name: 'factory-west' } },
  }),
  'edge.node.update_triggered': eventType({
    description: 'The updater of a node was told to fetch the newest stable agent.',
    data: NodeSnapshot.extend({ self_update_request_id: id('The request that asked for it.') }),
    example: { time: EXAMPLE_TIMES.created, data: { ...node, self_update_request_id: EXAMPLE_IDS.update } },
  }),
};
