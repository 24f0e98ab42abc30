/** A node, its aliases and its SSH usernames as clients see them. */
import type { NodeId } from '../../transport/protocol/ids.ts';
import type { AliasRecord, NodeRecord, SshPublicKeyRecord, SshUsernameRecord } from '../records.ts';
import type { AliasResource, NodeResource } from '../resources/node.ts';
import type { SshPublicKeyResource, SshUsernameResource } from '../resources/ssh.ts';
import { instant } from '../resources/instant.ts';
import { displayName } from './display-name.ts';

/** `{label}.{cluster}.{domain}`: the only way to address a node (docs/vpn.md, Addresses). */
export function vpnHostname(label: string, clusterName: string, domain: string): string {
  return `${label}.${clusterName}.${domain}`;
}

/** The resource of a node. */
export function nodeResource(record: NodeRecord, aliases: readonly AliasRecord[], domain: string): NodeResource {
  return {
    id: record.id,
    name: displayName(record, aliases),
    cluster_name: record.clusterName,
    status: record.status,
    status_since: instant(record.standing.sinceMs),
    status_reason: record.standing.reason,
    status_evidence: record.standing.evidence,
    version: record.version,
    id_type: record.idType,
    vpn_hostname: vpnHostname(`node-${record.id}`, record.clusterName, domain),
    aliases: aliases.map((alias) => ({
      id: alias.id,
      name: alias.name,
      vpn_hostname: vpnHostname(alias.name, record.clusterName, domain),
    })),
    ...record.ports,
    self_update_enabled: record.selfUpdateEnabled,
    enrollment_key_id: record.enrollmentKeyId,
    facts: record.facts,
    labels: record.labels,
    last_seen_at: instant(record.lastSeenAtMs),
    inserted_at: instant(record.insertedAtMs),
    updated_at: instant(record.updatedAtMs),
  };
}

/** The resource of an alias made at `atMs`. */
export function aliasResource(alias: AliasRecord, node: NodeRecord, domain: string, atMs: number): AliasResource {
  return {
    id: alias.id,
    name: alias.name,
    node_id: node.id,
    cluster_name: node.clusterName,
    vpn_hostname: vpnHostname(alias.name, node.clusterName, domain),
    inserted_at: instant(atMs),
    updated_at: instant(atMs),
  };
}

/** The resource of an SSH username made at `atMs`, with its keys. */
export function sshUsernameResource(
  { id, username, passwordHash, keys }: SshUsernameRecord,
  node: NodeId,
  atMs: number,
): SshUsernameResource {
  return {
    id,
    username,
    has_password: passwordHash !== null,
    node_id: node,
    public_keys: keys.map((key) => sshPublicKeyResource(key, id, atMs)),
    inserted_at: instant(atMs),
    updated_at: instant(atMs),
  };
}

/** The resource of an SSH public key made at `atMs`. */
export function sshPublicKeyResource(
  { id, keyName, line, fingerprint }: SshPublicKeyRecord,
  sshUsername: string,
  atMs: number,
): SshPublicKeyResource {
  return {
    id,
    public_key: line,
    fingerprint,
    key_name: keyName,
    ssh_username_id: sshUsername,
    inserted_at: instant(atMs),
    updated_at: instant(atMs),
  };
}
