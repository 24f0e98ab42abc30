/** What each type of event tells, with a full example: the catalogue that clients read, and that descriptions are made from. */
import { envelope, EVENT_TYPES, type Envelope, type EventType } from './events.ts';

/** One entry of the catalogue. */
export interface EventTypeResource {
  readonly type: EventType;
  /** When it fires, in one or two sentences. */
  readonly description: string;
  readonly example: Envelope;
}

/** Words of every test event. */
export const TEST_MESSAGE = 'This is a test event.';

const NODE_ID = '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01';
const COMMAND_ID = '0193a1c2-9a10-7d02-8f11-2b7c5d9e3f02';
const EXECUTION_ID = '0193a1c2-9a11-7e55-a0b2-6c8d1e4f7a03';
const KEY_ID = '0193a1c0-11aa-7b33-8c44-9d5e6f7a8b04';
const UPDATE_ID = '0193a1c5-22bb-7c66-9d77-8e9f0a1b2c05';
const USERNAME_ID = '0193a1c6-33cc-7d88-8e99-7f0a1b2c3d06';

const ENROLLED_AT = '2026-01-15T09:00:00.000Z';
const CREATED_AT = '2026-01-15T10:00:00.000Z';
const SENT_AT = '2026-01-15T10:00:00.020Z';
const ENDED_AT = '2026-01-15T10:00:01.500Z';
const PRUNED_AT = '2026-02-14T10:00:02.000Z';

const node = {
  node_id: NODE_ID,
  cluster_name: 'factory-east',
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
  last_seen_at: CREATED_AT,
  inserted_at: ENROLLED_AT,
  updated_at: CREATED_AT,
};

const execution = {
  command_execution_id: EXECUTION_ID,
  command_id: COMMAND_ID,
  node_id: NODE_ID,
  cluster_name: 'factory-east',
  command_text: 'uptime',
  timeout: 30_000,
  status: 'pending',
  exit_code: null,
  target_all: false,
  expired_at: null,
  sent_at: null,
  completed_at: null,
  cancelled_at: null,
  inserted_at: CREATED_AT,
  updated_at: CREATED_AT,
};

const completed = { ...execution, status: 'completed', exit_code: 0, sent_at: SENT_AT, completed_at: ENDED_AT, updated_at: ENDED_AT };

interface Entry {
  readonly description: string;
  readonly atTime: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const ENTRIES: Readonly<Record<EventType, Entry>> = {
  'edge.node.registered': {
    description: 'A node with a new id enrolled for the first time.',
    atTime: ENROLLED_AT,
    data: { ...node, status: 'unreachable', last_seen_at: null, updated_at: ENROLLED_AT },
  },
  'edge.node.reregistered': { description: 'A node that was known before enrolled or registered again.', atTime: CREATED_AT, data: node },
  'edge.node.version_changed': {
    description: 'A node registered again with another agent version. Comes along with edge.node.reregistered.',
    atTime: CREATED_AT,
    data: { ...node, previous_version: '0.0.9' },
  },
  'edge.node.status_changed': {
    description: 'The health of a node changed among healthy, unhealthy and unreachable. Every admin that observes it publishes its own.',
    atTime: CREATED_AT,
    data: { ...node, previous_status: 'unreachable' },
  },
  'edge.node.cluster_changed': { description: 'A node was moved to another cluster.', atTime: CREATED_AT, data: { ...node, previous_cluster_name: 'factory-west' } },
  'edge.node.update_triggered': {
    description: 'The updater of a node was told to fetch the newest stable agent.',
    atTime: CREATED_AT,
    data: { ...node, self_update_request_id: UPDATE_ID },
  },
  'edge.command_execution.created': { description: 'A command was created and this node is one of its targets.', atTime: CREATED_AT, data: execution },
  'edge.command_execution.sent': {
    description: 'The agent acknowledged that it has the execution in its journal.',
    atTime: SENT_AT,
    data: { ...execution, status: 'sent', sent_at: SENT_AT, updated_at: SENT_AT },
  },
  'edge.command_execution.completed': { description: 'The agent reported a result. The exit code tells success from failure; the output is in the record.', atTime: ENDED_AT, data: completed },
  'edge.command_execution.cancelled': {
    description: 'The execution was cancelled, by request or because the agent was stopped.',
    atTime: ENDED_AT,
    data: { ...execution, status: 'cancelled', exit_code: 143, sent_at: SENT_AT, cancelled_at: ENDED_AT, updated_at: ENDED_AT },
  },
  'edge.command_execution.expired': {
    description: 'The execution passed its expiry before it ran.',
    atTime: ENDED_AT,
    data: { ...execution, status: 'expired', expired_at: '2026-01-15T10:00:01.000Z', updated_at: ENDED_AT },
  },
  'edge.command_execution.pruned': { description: 'A finished execution was deleted because it was older than the retention.', atTime: PRUNED_AT, data: completed },
  'edge.self_update_request.completed': {
    description: 'Every node of a self-update request was triggered or failed.',
    atTime: ENDED_AT,
    data: { self_update_request_id: UPDATE_ID, status: 'completed', targeting: { type: 'clusters', cluster_names: ['factory-east'] }, summary: { total: 3, triggered: 2, failed: 1 }, inserted_at: CREATED_AT, updated_at: ENDED_AT },
  },
  'edge.enrollment_key.verified': {
    description: 'An agent tried to enrol with a key, successfully or not. The first four fields are null when the key is not known.',
    atTime: ENROLLED_AT,
    data: { enrollment_key_id: KEY_ID, cluster_name: 'factory-east', name: 'line 3', uses_remaining: 4, result: 'verified', verified_at: ENROLLED_AT },
  },
  'edge.ssh_username.verified': {
    description: 'An agent checked an SSH credential with the admin, successfully or not.',
    atTime: CREATED_AT,
    data: { ssh_username_id: USERNAME_ID, node_id: NODE_ID, username: 'operator', cluster_name: 'factory-east', auth_method: 'public_key', result: 'success', verified_at: CREATED_AT },
  },
  'edge.core.test': { description: 'Someone published a test event.', atTime: CREATED_AT, data: { message: TEST_MESSAGE, requested_at: CREATED_AT } },
};

/** Id of every example envelope: a UUID v4, as real ones are. */
const EXAMPLE_ID = '7f3d2c1a-9b8e-4f6d-8a5b-1c2d3e4f5a6b';

/** The whole catalogue, in the order of the spec. `coreName` is that of the examples. */
export function eventCatalogue(coreName: string): readonly EventTypeResource[] {
  return EVENT_TYPES.map((type) => explainEventType(type, coreName));
}

/** One entry of the catalogue. */
export function explainEventType(type: EventType, coreName: string): EventTypeResource {
  const { description, atTime, data } = ENTRIES[type];
  return { type, description, example: envelope({ cursor: '', id: EXAMPLE_ID, type, subject: '', time: atTime, data }, coreName) };
}

