/** Rows, states and messages for tests of actors, with everything that a test does not speak of filled in. */
import type {
  ClusterRecord,
  CommandRecord,
  EnrollmentKeyRecord,
  NodeRecord,
  OpenCommand,
  OpenExecution,
  Standing,
} from '../../actors/records.ts';
import type { StatusEvidence } from '../../actors/resources/node.ts';
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { ReplyTo } from '../../actors/reply-to.ts';
import { FULL_VPN_ALLOWANCES, NEW_VPN_SESSION } from '../../actors/node/vpn-state.ts';
import { NOTHING_READ, type NodeState } from '../../actors/node/state.ts';
import { NO_UPDATES } from '../../actors/node/updates-state.ts';
import { FULL_FACTS_ALLOWANCE } from '../../actors/node/facts.ts';
import { FULL_LOOK_UPS } from '../../actors/node/look-ups.ts';
import { FULL_ALLOWANCE, NO_SSH } from '../../actors/ssh/login-attempts.ts';
import type { BehaviourSettings } from '../../supervisors/runtime/kinds.ts';
import type { ExecutionResult } from '../../transport/protocol/execution-result.ts';
import type { HealthReport, Registration } from '../../transport/protocol/agent-description.ts';
import type { NodeFacts } from '../../transport/protocol/facts.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId, SessionId } from '../../transport/protocol/ids.ts';

/** An id that is the same in every run: `id('a', 3)`. The letter must be a hex digit. */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters -- whoever asks says which id it is
export function id<T extends string>(kind: string, number: number): T {
  return `${kind.repeat(8)}-0000-7000-8000-${number.toString(16).padStart(12, '0')}` as T;
}

/** When the rows of these tests were made. */
export const MADE_MS = Date.UTC(2026, 0, 15, 10, 0, 0);

/** When the tests happen: a minute later. */
export const NOW_MS = MADE_MS + 60_000;

/** The cluster in which everything happens, and one to move to. */
export const CLUSTER = id<ClusterId>('c', 1);
export const OTHER_CLUSTER = id<ClusterId>('c', 2);
/** The node that tests are about. */
export const NODE = id<NodeId>('b', 1);
/** Whoever asks, where it does not matter who. */
export const REPLY_TO = 77 as ReplyTo;

/** The effect that answers whoever asked. */
export function answer(value: unknown = null) {
  return { type: 'answer', to: REPLY_TO, result: { ok: true, value } } as const;
}

/** Session `number`. */
export function session(number: number): SessionId {
  return number as SessionId;
}

/** Execution `number`. */
export function execution(number: number): ExecutionId {
  return id<ExecutionId>('e', number);
}

/** Settings of all behaviours. */
export const SETTINGS: BehaviourSettings = {
  unreachableAfterMs: 30_000,
  dampingMs: 30_000,
  vpnDomain: 'edge.test',
  agent: { admin_urls: ['http://admin.test:44000'], derp_map_urls: [], refresh_ms: 300_000 },
  concurrency: 4,
  retryBaseMs: 1_000,
};

/** The default ports of an agent. Source: docs/settings.md. */
export const PORTS = {
  http_port: 44_000,
  ssh_port: 40_022,
  host_metrics_port: 49_100,
  wireguard_metrics_port: 49_586,
  http_proxy_port: 43_128,
  socks5_proxy_port: 41_080,
};

/** What the agent says of itself. */
export const REGISTRATION: Registration = {
  version: '1.0.0',
  id_type: 'persistent',
  ports: PORTS,
  self_update_enabled: false,
};
/** What it says of its machine. */
export const FACTS: NodeFacts = {
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
};

/** A report of an agent that is well. */
export const HEALTHY: HealthReport = { services: [{ name: 'runner', healthy: true, detail: null }] };
/** A report of an agent that is not. */
export const UNHEALTHY: HealthReport = { services: [{ name: 'runner', healthy: false, detail: 'the disk is full' }] };

/** Of a node that was heard when it was made, and not since. */
export const AWAY: Standing = {
  sinceMs: MADE_MS,
  reason: 'Nothing heard since 2026-01-15T10:00:00.000Z',
  evidence: null,
  changesMs: [],
};

/** Of one that has been well since it was made. */
export const WELL: Standing = { sinceMs: MADE_MS, reason: null, evidence: evidence(MADE_MS), changesMs: [MADE_MS] };

/** Evidence of a node that connected at this time and is well. */
export function evidence(atMs: number, more: Partial<StatusEvidence> = {}): StatusEvidence {
  const at = new Date(atMs).toISOString();
  return { observed_at: at, session: { connected_at: at }, last_report_at: at, services: [], vpn: null, ...more };
}

/** A node's row: enrolled, heard of, out of reach. */
export function nodeRecord(more: Partial<NodeRecord> = {}): NodeRecord {
  return {
    id: NODE,
    cluster: CLUSTER,
    clusterName: 'factory',
    status: 'unreachable',
    standing: more.status === 'healthy' ? WELL : AWAY,
    version: '1.0.0',
    idType: 'persistent',
    ports: PORTS,
    selfUpdateEnabled: false,
    enrollmentKeyId: id('d', 1),
    facts: null,
    labels: {},
    lastSeenAtMs: MADE_MS,
    insertedAtMs: MADE_MS,
    updatedAtMs: MADE_MS,
    ...more,
  };
}

/** A node without a session and without executions. */
export function nodeState(more: Partial<NodeState> = {}): NodeState {
  return {
    record: nodeRecord(),
    aliases: [],
    vpn: null,
    session: null,
    open: new Map(),
    backlog: false,
    ...NOTHING_READ,
    sshAllowance: FULL_ALLOWANCE,
    lookUps: FULL_LOOK_UPS,
    vpnAllowances: FULL_VPN_ALLOWANCES,
    factsAllowance: FULL_FACTS_ALLOWANCE,
    updates: NO_UPDATES,
    ...more,
  };
}

/** A healthy node with live session 1. */
export function liveNode(
  open: readonly OpenExecution[] = [],
  {
    delivered = open.map((one) => one.id),
    ...more
  }: Partial<NodeState> & { readonly delivered?: readonly ExecutionId[] } = {},
): NodeState {
  return nodeState({
    record: nodeRecord({ status: 'healthy' }),
    session: {
      id: session(1),
      connectedAtMs: MADE_MS,
      report: HEALTHY,
      reportedAtMs: MADE_MS,
      reportLate: false,
      relayedBy: null,
      wellSinceMs: MADE_MS,
      delivered: new Set(delivered),
      recalls: false,
      updates: false,
      ssh: NO_SSH,
      vpn: NEW_VPN_SESSION,
    },
    open: new Map(open.map((one) => [one.id, one])),
    ...more,
  });
}

/** Command 1: `true` on named nodes, without timeout or expiry. */
export function commandRecord(more: Partial<CommandRecord> = {}): CommandRecord {
  return {
    id: id<CommandId>('a', 1),
    text: 'true',
    targeting: { type: 'nodes', node_ids: [NODE] },
    timeoutMs: null,
    expiredAtMs: null,
    insertedAtMs: MADE_MS,
    ...more,
  };
}

/** The same as its executions hold it. */
export function openCommand(more: Partial<OpenCommand> = {}): OpenCommand {
  const { targeting: _targeting, ...command } = commandRecord();
  return { ...command, targetAll: false, ...more };
}

/** Open execution `number` of command 1 on the node; sent ones were sent a second after they were made. */
export function open(
  number: number,
  status: OpenExecution['status'] = 'pending',
  more: Partial<OpenExecution> = {},
): OpenExecution {
  return {
    id: execution(number),
    command: openCommand(),
    node: NODE,
    clusterName: 'factory',
    status,
    sentAtMs: status === 'sent' ? MADE_MS + 1_000 : null,
    cancelRequestedAtMs: null,
    insertedAtMs: MADE_MS,
    updatedAtMs: MADE_MS,
    ...more,
  };
}

/** A result: completed with 0 and an output. */
export function result(number: number, more: Partial<ExecutionResult> = {}): ExecutionResult {
  return {
    execution: execution(number),
    outcome: 'completed',
    exit_code: 0,
    output: 'done\n',
    parts: 0,
    output_truncated: false,
    ...more,
  };
}

/** A cluster's row, without limit. */
export function clusterRecord(more: Partial<ClusterRecord> = {}): ClusterRecord {
  return {
    id: CLUSTER,
    name: 'factory',
    ipv4Range: '100.64.0.0/24',
    ipv6Range: 'fd00::/64',
    nodeLimit: null,
    nodeCount: 0,
    insertedAtMs: MADE_MS,
    updatedAtMs: MADE_MS,
    ...more,
  };
}

/** A key's row: five uses, no expiry. */
export function keyRecord(more: Partial<EnrollmentKeyRecord> = {}): EnrollmentKeyRecord {
  return {
    id: id('d', 1),
    cluster: CLUSTER,
    clusterName: 'factory',
    name: 'line 3',
    expiredAtMs: null,
    usesRemaining: 5,
    lastUsedAtMs: null,
    labels: {},
    insertedAtMs: MADE_MS,
    updatedAtMs: MADE_MS,
    ...more,
  };
}

/** What an event says in these fields of its data. */
export function told(event: DomainEvent, ...fields: readonly string[]): readonly unknown[] {
  const data: Readonly<Record<string, unknown>> = event.data;
  return fields.map((field) => data[field]);
}
