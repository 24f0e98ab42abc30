/** A small fleet, made from a seed: stored as rows, and as the resources that clients should then see. */
import type { ListName } from '../../../actors/filters.ts';
import type { CommandSummary, ExecutionStatus } from '../../../actors/resources/command.ts';
import type { ListRows } from '../../../api/ports.ts';
import { Cluster } from '../../../persistence/entities/cluster.ts';
import { Command, CommandExecution } from '../../../persistence/entities/command.ts';
import { EnrollmentKey } from '../../../persistence/entities/enrollment-key.ts';
import { NodeFacts, NodeLabels } from '../../../persistence/entities/node-description.ts';
import { NodeGroup } from '../../../persistence/entities/node-group.ts';
import { Alias, Node } from '../../../persistence/entities/node.ts';
import { SshRecording } from '../../../persistence/entities/ssh-recording.ts';
import { SshPublicKey, SshUsername } from '../../../persistence/entities/ssh-username.ts';
import { Webhook, WebhookDelivery } from '../../../persistence/entities/webhook.ts';
import { DOMAIN, openedDatabase, type Opened } from '../../support/database/opened.ts';
import { makeEntities, type FleetEntities } from './entities.ts';
import { selfUpdateResources, storeSelfUpdates } from './self-update-entities.ts';

/** All resources of a fleet, as lists show them, in no order. */
export type Fixture = { readonly [N in ListName]: readonly ListRows[N][] };

/** A database of the test's own with a fleet, and what lists should show of it. */
export async function openStoredFleet(t: Parameters<typeof openedDatabase>[0], seed?: number) {
  const opened = await openedDatabase(t);
  return { opened, fixture: await openStorageFixture(opened, seed) };
}

/** Stores a fleet and returns what lists should show of it. */
export async function openStorageFixture({ orm, vault }: Pick<Opened, 'orm' | 'vault'>, seed = 1): Promise<Fixture> {
  const entities = makeEntities(vault, seed);
  await store(orm, entities);
  return resourcesOf(entities);
}

async function store(orm: Opened['orm'], entities: FleetEntities): Promise<void> {
  const {
    clusters,
    keys,
    keyLabels,
    nodes,
    descriptions,
    groups,
    aliases,
    commands,
    executions,
    usernames,
    publicKeys,
    recordings,
    webhooks,
    deliveries,
  } = entities;
  const em = orm.em.fork();
  await em.insertMany(Cluster, clusters);
  await em.insertMany(
    EnrollmentKey,
    keys.map((key) => ({ ...key, cluster: key.cluster.id, labels: keyLabels.get(key) ?? {} })),
  );
  await em.insertMany(
    Node,
    nodes.map((node) => ({ ...node, cluster: node.cluster.id, enrollmentKey: node.enrollmentKey?.id ?? null })),
  );
  for (const [node, { facts, labels }] of descriptions) {
    await em.nativeUpdate(NodeLabels, { node: node.id }, { labels });
    if (facts !== null) await em.insert(NodeFacts, { node: node.id, facts });
  }
  await em.insertMany(NodeGroup, groups);
  await em.insertMany(
    Alias,
    aliases.map((alias) => ({ ...alias, node: alias.node.id, cluster: alias.cluster.id })),
  );
  await em.insertMany(Command, commands);
  await em.insertMany(
    CommandExecution,
    executions.map(({ command, node, ...execution }) => ({ ...execution, commandId: command.id, nodeId: node.id })),
  );
  await em.insertMany(
    SshUsername,
    usernames.map((username) => ({ ...username, node: username.node.id })),
  );
  await em.insertMany(
    SshPublicKey,
    publicKeys.map((key) => ({ ...key, sshUsername: key.sshUsername.id })),
  );
  await em.insertMany(SshRecording, recordings);
  await em.insertMany(Webhook, webhooks);
  await em.insertMany(
    WebhookDelivery,
    deliveries.map(({ webhook, ...delivery }) => ({ ...delivery, webhookId: webhook.id })),
  );
  await storeSelfUpdates(em, entities);
}

function resourcesOf(entities: FleetEntities): Fixture {
  const {
    clusters,
    keys,
    keyLabels,
    nodes,
    descriptions,
    groups,
    aliases,
    commands,
    executions,
    usernames,
    publicKeys,
    recordings,
    webhooks,
    deliveries,
  } = entities;
  return {
    clusters: clusters.map((cluster) => ({
      id: cluster.id,
      name: cluster.name,
      network_name: `cluster-${cluster.name}`,
      vpn_domain: `${cluster.name}.${DOMAIN}`,
      ipv4_range: cluster.ipv4Range,
      ipv6_range: cluster.ipv6Range,
      node_limit: cluster.nodeLimit,
      node_count: cluster.nodeCount,
      ...dates(cluster),
    })),
    enrollment_keys: keys.map((key) => ({
      id: key.id,
      cluster_name: key.cluster.name,
      name: key.name,
      key: '********',
      expired_at: iso(key.expiredAt),
      uses_remaining: key.usesRemaining,
      last_used_at: iso(key.lastUsedAt),
      labels: keyLabels.get(key) ?? {},
      ...dates(key),
    })),
    nodes: nodes.map((node) => ({
      id: node.id,
      name:
        aliases
          .filter((alias) => alias.node === node)
          .map(({ name }) => name)
          .sort()[0] ??
        descriptions.get(node)?.facts?.hostname ??
        node.id.slice(0, 8),
      cluster_name: node.cluster.name,
      status: node.status,
      status_since: node.statusSince.toISOString(),
      status_reason: node.statusReason,
      status_evidence: node.statusDetail?.evidence ?? null,
      version: node.version,
      id_type: node.idType,
      vpn_hostname: `node-${node.id}.${node.cluster.name}.${DOMAIN}`,
      aliases: aliases
        .filter((alias) => alias.node === node)
        .map(({ id, name }) => ({ id, name, vpn_hostname: `${name}.${node.cluster.name}.${DOMAIN}` })),
      http_port: 44_000,
      ssh_port: 40_022,
      host_metrics_port: 49_100,
      wireguard_metrics_port: 49_586,
      http_proxy_port: 43_128,
      socks5_proxy_port: 41_080,
      self_update_enabled: node.selfUpdateEnabled,
      enrollment_key_id: node.enrollmentKey?.id ?? null,
      facts: descriptions.get(node)?.facts ?? null,
      labels: descriptions.get(node)?.labels ?? {},
      last_seen_at: iso(node.lastSeenAt),
      ...dates(node),
    })),
    groups: groups.map(({ id, name, description, targeting, ...group }) => ({
      id,
      name,
      description,
      targeting,
      ...dates(group),
    })),
    aliases: aliases.map((alias) => ({
      id: alias.id,
      name: alias.name,
      node_id: alias.node.id,
      cluster_name: alias.cluster.name,
      vpn_hostname: `${alias.name}.${alias.cluster.name}.${DOMAIN}`,
      ...dates(alias),
    })),
    commands: commands.map((command) => ({
      id: command.id,
      command_text: command.commandText,
      targeting: command.targeting,
      timeout: command.timeout,
      expired_at: iso(command.expiredAt),
      summary: summaryOf(executions.filter((execution) => execution.command === command)),
      ...dates(command),
    })),
    command_executions: executions.map(({ command, node, ...execution }) => ({
      id: execution.id,
      command_id: command.id,
      node_id: node.id,
      cluster_name: execution.clusterName,
      command_text: command.commandText,
      timeout: command.timeout,
      status: execution.status,
      exit_code: execution.exitCode,
      output: execution.output,
      output_truncated: execution.outputTruncated,
      output_withheld: false,
      target_all: execution.targetAll,
      expired_at: iso(execution.expiredAt),
      sent_at: iso(execution.sentAt),
      completed_at: iso(execution.completedAt),
      cancelled_at: iso(execution.cancelledAt),
      ...dates(execution),
    })),
    ...selfUpdateResources(entities),
    ssh_usernames: usernames.map((username) => ({
      id: username.id,
      username: username.username,
      has_password: username.passwordHash !== null,
      node_id: username.node.id,
      public_keys: null,
      ...dates(username),
    })),
    ssh_public_keys: publicKeys.map((key) => ({
      id: key.id,
      public_key: key.publicKey,
      fingerprint: key.fingerprint,
      key_name: key.keyName,
      ssh_username_id: key.sshUsername.id,
      ...dates(key),
    })),
    ssh_recordings: recordings.map((recording) => ({
      id: recording.id,
      node_id: recording.nodeId,
      cluster_name: recording.clusterName,
      ssh_username_id: recording.sshUsernameId,
      username: recording.username,
      command: recording.command,
      started_at: recording.startedAt.toISOString(),
      duration_ms: recording.durationMs,
      width: 80,
      height: 24,
      truncated: recording.truncated,
      size_bytes: recording.sizeBytes,
      cast: null,
      inserted_at: recording.insertedAt.toISOString(),
    })),
    webhooks: webhooks.map((webhook) => ({
      id: webhook.id,
      url: webhook.url,
      subscribed_events: webhook.subscribedEvents,
      ...dates(webhook),
    })),
    webhook_deliveries: deliveries.map((delivery) => ({
      id: delivery.id,
      webhook_id: delivery.webhook.id,
      event_id: delivery.eventId,
      event_type: delivery.eventType,
      status: delivery.status,
      attempt_count: delivery.attemptCount,
      last_status_code: delivery.lastStatusCode,
      last_error: delivery.lastError,
      last_duration_ms: delivery.lastDurationMs,
      last_attempted_at: iso(delivery.lastAttemptedAt),
      next_attempt_at: iso(delivery.nextAttemptAt),
      ...dates(delivery),
    })),
  };
}

const iso = (date: Date | null) => date?.toISOString() ?? null;

const dates = ({ insertedAt, updatedAt }: { insertedAt: Date; updatedAt: Date }) => ({
  inserted_at: insertedAt.toISOString(),
  updated_at: updatedAt.toISOString(),
});

function summaryOf(
  executions: readonly { readonly status: ExecutionStatus; readonly exitCode: number | null }[],
): CommandSummary {
  const count = (status: ExecutionStatus) => executions.filter((execution) => execution.status === status).length;
  const succeeded = executions.filter(
    (execution) => execution.status === 'completed' && execution.exitCode === 0,
  ).length;
  return {
    total: executions.length,
    pending: count('pending'),
    sent: count('sent'),
    completed: count('completed'),
    succeeded,
    failed: count('completed') - succeeded,
    cancelled: count('cancelled'),
    expired: count('expired'),
    dropped: count('dropped'),
  };
}
