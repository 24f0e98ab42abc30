/** A cluster and its keys as clients see them. */
import type { ClusterRecord, EnrollmentKeyRecord } from '../records.ts';
import type { ClusterResource } from '../resources/cluster.ts';
import type { EnrollmentKeyResource } from '../resources/enrollment-key.ts';
import { instant } from '../resources/instant.ts';

/** The resource of a cluster, without its nodes. */
export function clusterResource(record: ClusterRecord, domain: string): ClusterResource {
  return {
    id: record.id,
    name: record.name,
    network_name: `cluster-${record.name}`,
    vpn_domain: `${record.name}.${domain}`,
    ipv4_range: record.ipv4Range,
    ipv6_range: record.ipv6Range,
    node_limit: record.nodeLimit,
    node_count: record.nodeCount,
    inserted_at: instant(record.insertedAtMs),
    updated_at: instant(record.updatedAtMs),
  };
}

/** The resource of an enrolment key with its blob. */
export function enrollmentKeyResource(key: EnrollmentKeyRecord, blob: string): EnrollmentKeyResource {
  return {
    id: key.id,
    cluster_name: key.clusterName,
    name: key.name,
    key: blob,
    expired_at: instant(key.expiredAtMs),
    uses_remaining: key.usesRemaining,
    last_used_at: instant(key.lastUsedAtMs),
    labels: key.labels,
    inserted_at: instant(key.insertedAtMs),
    updated_at: instant(key.updatedAtMs),
  };
}
