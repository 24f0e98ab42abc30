/** Rows as records of actors. */
import type { EnrollmentKeyRecord, NodeRecord } from '../../actors/records.ts';
import type { NodeStatus } from '../../actors/resources/node.ts';
import type { StatusDetail } from '../entities/node.ts';
import type { AgentPorts } from '../../transport/protocol/agent-description.ts';
import type { NodeFacts, ToldFacts } from '../../transport/protocol/facts.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import type { Labels } from '../../transport/protocol/labels.ts';
import { sql } from './sql.ts';

/** What describes the node `n`: an agent that says nothing of its machine has no row of facts. */
export const DESCRIPTION_COLUMNS = sql`(select f.facts from node_facts f where f.node_id = n.id) as facts, coalesce((select l.labels from node_labels l where l.node_id = n.id), '{}') as labels`;

/** What `nodeRecord` wants of `node n join cluster c`. */
export const NODE_COLUMNS = sql`n.id, n.cluster_id, c.name as cluster_name, n.status, n.status_since, n.status_reason, n.status_detail, n.version, n.id_type, n.http_port, n.ssh_port, n.host_metrics_port, n.wireguard_metrics_port,
  n.http_proxy_port, n.socks5_proxy_port, n.self_update_enabled, n.enrollment_key_id, ${DESCRIPTION_COLUMNS}, n.last_seen_at, n.inserted_at, n.updated_at`;

/** A row of NODE_COLUMNS. */
export interface NodeRow extends AgentPorts {
  readonly id: NodeId;
  readonly cluster_id: ClusterId;
  readonly cluster_name: string;
  readonly status: NodeStatus;
  readonly status_since: Date;
  readonly status_reason: string | null;
  readonly status_detail: StatusDetail | null;
  readonly version: string;
  readonly id_type: 'persistent' | 'random';
  readonly self_update_enabled: boolean;
  readonly enrollment_key_id: string | null;
  readonly facts: ToldFacts | null;
  readonly labels: Labels;
  readonly last_seen_at: Date | null;
  readonly inserted_at: Date;
  readonly updated_at: Date;
}

/** A node's row as its record. */
export function nodeRecord(row: NodeRow): NodeRecord {
  return {
    id: row.id,
    cluster: row.cluster_id,
    clusterName: row.cluster_name,
    status: row.status,
    standing: {
      sinceMs: ms(row.status_since),
      reason: row.status_reason,
      evidence: row.status_detail?.evidence ?? null,
      changesMs: row.status_detail?.changes_ms ?? [],
    },
    version: row.version,
    idType: row.id_type,
    ports: {
      http_port: row.http_port,
      ssh_port: row.ssh_port,
      host_metrics_port: row.host_metrics_port,
      wireguard_metrics_port: row.wireguard_metrics_port,
      http_proxy_port: row.http_proxy_port,
      socks5_proxy_port: row.socks5_proxy_port,
    },
    selfUpdateEnabled: row.self_update_enabled,
    enrollmentKeyId: row.enrollment_key_id,
    facts: factsOf(row.facts),
    labels: row.labels,
    lastSeenAtMs: ms(row.last_seen_at),
    insertedAtMs: ms(row.inserted_at),
    updatedAtMs: ms(row.updated_at),
  };
}

/** Rows that were written before agents told their host key have none. */
function factsOf(stored: ToldFacts | null): NodeFacts | null {
  return stored === null ? null : { ...stored, ssh_host_key: stored.ssh_host_key ?? null };
}

/** What `enrollmentKeyRecord` wants of `enrollment_key k join cluster c`. */
export const ENROLLMENT_KEY_COLUMNS = sql`k.id, k.cluster_id, c.name as cluster_name, k.name, k.expired_at, k.uses_remaining, k.last_used_at, k.labels, k.inserted_at, k.updated_at`;

/** A row of ENROLLMENT_KEY_COLUMNS. */
export interface EnrollmentKeyRow {
  readonly id: string;
  readonly cluster_id: ClusterId;
  readonly cluster_name: string;
  readonly name: string | null;
  readonly expired_at: Date | null;
  readonly uses_remaining: number | null;
  readonly last_used_at: Date | null;
  readonly labels: Labels;
  readonly inserted_at: Date;
  readonly updated_at: Date;
}

/** An enrolment key's row as its record. */
export function enrollmentKeyRecord(row: EnrollmentKeyRow): EnrollmentKeyRecord {
  return {
    id: row.id,
    cluster: row.cluster_id,
    clusterName: row.cluster_name,
    name: row.name,
    expiredAtMs: ms(row.expired_at),
    usesRemaining: row.uses_remaining,
    lastUsedAtMs: ms(row.last_used_at),
    labels: row.labels,
    insertedAtMs: ms(row.inserted_at),
    updatedAtMs: ms(row.updated_at),
  };
}

/** A time out of the database as Unix ms. */
export function ms(date: Date): number;
export function ms(date: Date | null): number | null;
export function ms(date: Date | null): number | null {
  return date === null ? null : date.getTime();
}
