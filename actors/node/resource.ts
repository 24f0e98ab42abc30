/** A node and its aliases as clients see them. */
import type { AliasRecord, NodeRecord } from '../records.ts';
import type { AliasResource, NodeResource } from '../resources.ts';
import { instant } from '../resources.ts';

/** `{label}.{cluster}.{domain}`: the only way to address a node (spec, rule 3). */
export function vpnHostname(label: string, clusterName: string, domain: string): string {
  return `${label}.${clusterName}.${domain}`;
}

/** The resource of a node. */
export function nodeResource(record: NodeRecord, aliases: readonly AliasRecord[], domain: string): NodeResource {
  return {
    id: record.id,
    cluster_name: record.clusterName,
    status: record.status,
    version: record.version,
    id_type: record.idType,
    vpn_hostname: vpnHostname(`node-${record.id}`, record.clusterName, domain),
    aliases: aliases.map((alias) => ({ id: alias.id, name: alias.name, vpn_hostname: vpnHostname(alias.name, record.clusterName, domain) })),
    ...record.ports,
    self_update_enabled: record.selfUpdateEnabled,
    enrollment_key_id: record.enrollmentKeyId,
    last_seen_at: instant(record.lastSeenAtMs),
    inserted_at: instant(record.insertedAtMs),
    updated_at: instant(record.updatedAtMs),
  };
}

/** The resource of an alias made at `atMs`. */
export function aliasResource(alias: AliasRecord, node: NodeRecord, domain: string, atMs: number): AliasResource {
  return { id: alias.id, name: alias.name, node_id: node.id, cluster_name: node.clusterName, vpn_hostname: vpnHostname(alias.name, node.clusterName, domain), inserted_at: instant(atMs), updated_at: instant(atMs) };
}
