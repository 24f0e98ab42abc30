/** A small fleet, made from a seed: as entities to store, and as the resources that clients should then see. */
import { v7 } from 'uuid';
import type { ListRows } from '../../../api/ports.ts';
import type { ListName } from '../../../actors/filters.ts';
import { EVENT_TYPES } from '../../../actors/events.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../actors/resources/webhook.ts';
import { EXECUTION_STATUSES, type CommandSummary, type ExecutionStatus } from '../../../actors/resources/command.ts';
import { NODE_STATUSES } from '../../../actors/resources/node.ts';
import { enrollmentKeyBlob } from '../../../actors/sealed-columns.ts';
import { encodeEnrollmentBlob } from '../../../transport/protocol/enrollment.ts';
import { Cluster } from '../../../persistence/entities/cluster.ts';
import { Command, CommandExecution } from '../../../persistence/entities/command.ts';
import { EnrollmentKey } from '../../../persistence/entities/enrollment-key.ts';
import { Alias, Node } from '../../../persistence/entities/node.ts';
import { SshRecording } from '../../../persistence/entities/ssh-recording.ts';
import { SshPublicKey, SshUsername } from '../../../persistence/entities/ssh-username.ts';
import { Webhook, WebhookDelivery } from '../../../persistence/entities/webhook.ts';
import { DOMAIN, type Opened } from '../../support/opened.ts';

/** All resources of a fleet, as lists show them, in no order. */
export type Fixture = { readonly [N in ListName]: readonly ListRows[N][] };

/** Names and texts with everything that a wildcard could trip over. */
const TEXTS = ['prod', 'prod-east', 'staging', 'pro_d', 'pro%d', String.raw`pro\d`, 'PROD', '100% *', 'ünïcode', 'x'];
const CLUSTERS = ['prod', 'prod-east', 'prod-west', 'staging', 'a', 'east-1'];
const VERSIONS = ['1.0.0', '1.2.3', '2.0.0-rc.1', '1_0'];

const EPOCH_MS = Date.UTC(2026, 0, 1);
const FAR_MS = Date.UTC(2099, 0, 1);

/** Numbers from 0 up to a bound, the same for the same seed. Source: mulberry32, public domain. */
function numbers(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Stores a fleet and returns what lists should show of it. */
export async function openStorageFixture({ orm, vault }: Opened, seed = 1): Promise<Fixture> {
  const next = numbers(seed);
  const pick = <T>(values: readonly T[]): T => values[next(values.length)] as T;
  const time = () => new Date(EPOCH_MS + next(60) * 60_000);
  const maybe = <T>(value: () => T): T | null => (next(3) === 0 ? null : value());
  let made = 0;
  const madeAt = () => {
    // at most two a ms, as ids in order of creation
    made += 1;
    const ms = EPOCH_MS + Math.floor(made / 2);
    return { id: v7({ msecs: ms, seq: made }), insertedAt: new Date(ms) };
  };
  const randomId = () => v7({ msecs: next(2 ** 31), random: Uint8Array.from({ length: 16 }, () => next(256)) });
  const dates = ({ insertedAt, updatedAt }: { insertedAt: Date; updatedAt: Date }) => ({
    inserted_at: insertedAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  });
  const iso = (date: Date | null) => date?.toISOString() ?? null;

  const standing = () => {
    const statusSince = time();
    const evidence = {
      observed_at: statusSince.toISOString(),
      session: null,
      last_report_at: null,
      services: [{ name: 'ssh', problem: 'it does not listen' }],
      vpn: null,
    };
    return {
      statusSince,
      statusReason: maybe(() => pick(TEXTS)),
      statusDetail: maybe(() => ({ evidence, changes_ms: [EPOCH_MS] })),
    };
  };

  const clusters = CLUSTERS.map((name, index) => ({
    ...madeAt(),
    name,
    ipv4Range: `10.0.${index}.0/24`,
    ipv6Range: `fd00:0:0:${index + 1}::/64`,
    nodeLimit: maybe(() => 1 + next(50)),
    nodeCount: 0,
    updatedAt: time(),
  }));
  const keys = Array.from({ length: 14 }, () => {
    const { id, insertedAt } = madeAt();
    return {
      id,
      insertedAt,
      cluster: pick(clusters),
      name: maybe(() => pick(TEXTS)),
      nonceHash: Buffer.from(vault.sha256(nonceOf(id))),
      sealedKey: vault.seal(keyBlob(id), enrollmentKeyBlob(id)),
      expiredAt: maybe(() => (next(2) === 0 ? time() : new Date(FAR_MS + next(9)))),
      usesRemaining: maybe(() => next(3)),
      lastUsedAt: maybe(time),
      updatedAt: time(),
    };
  });
  const nodes = Array.from({ length: 47 }, () => {
    const id = randomId();
    return {
      id,
      cluster: pick(clusters.slice(0, 5)),
      enrollmentKey: maybe(() => pick(keys)),
      status: pick(NODE_STATUSES),
      ...standing(),
      version: pick(VERSIONS),
      idType: pick(['persistent', 'random'] as const),
      httpPort: 44_000,
      sshPort: 40_022,
      hostMetricsPort: 49_100,
      wireguardMetricsPort: 49_586,
      httpProxyPort: 43_128,
      socks5ProxyPort: 41_080,
      selfUpdateEnabled: next(2) === 0,
      tokenHash: Buffer.from(id),
      sealedProxyPassword: 'sealed',
      lastSeenAt: maybe(time),
      insertedAt: time(),
      updatedAt: time(),
    };
  });
  for (const cluster of clusters) cluster.nodeCount = nodes.filter((node) => node.cluster === cluster).length;
  const aliases = nodes.slice(0, 20).map((node, index) => ({
    ...madeAt(),
    node,
    cluster: node.cluster,
    name: `${pick(['web', 'db', 'east'])}-${index}`,
    updatedAt: time(),
  }));
  const commands = Array.from({ length: 9 }, () => ({
    ...madeAt(),
    commandText: pick(TEXTS),
    targeting: { type: 'all' as const },
    timeout: maybe(() => 1 + next(5) * 1_000),
    expiredAt: maybe(time),
    updatedAt: time(),
  }));
  const executions = commands.flatMap((command) =>
    nodes.slice(0, 16).map((node, index) => ({
      ...madeAt(),
      command,
      node,
      ...ending(pick(EXECUTION_STATUSES), next, time),
      clusterName: index % 7 === 0 ? 'gone' : node.cluster.name,
      targetAll: next(2) === 0,
      expiredAt: command.expiredAt,
      updatedAt: time(),
    })),
  );

  const usernames = Array.from({ length: 40 }, (_, index) => ({
    ...madeAt(),
    node: pick(nodes),
    username: `${pick(['ada', 'eve', 'op_er', 'x-ray'])}-${index}`,
    passwordHash: maybe(() => '$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA'),
    updatedAt: time(),
  }));
  const publicKeys = Array.from({ length: 50 }, (_, index) => ({
    ...madeAt(),
    sshUsername: pick(usernames),
    keyName: pick(TEXTS),
    publicKey: `ssh-ed25519 ${index}`,
    fingerprint: `SHA256:${index}`,
    updatedAt: time(),
  }));
  const recordings = Array.from({ length: 60 }, () => ({
    id: randomId(),
    nodeId: pick(nodes).id,
    clusterName: pick(CLUSTERS),
    sshUsernameId: pick(usernames).id,
    username: pick(['ada', 'eve', 'op_er', 'x-ray']),
    command: maybe(() => pick(TEXTS)),
    startedAt: time(),
    durationMs: next(3) * 1_001,
    width: 80,
    height: 24,
    truncated: next(2) === 0,
    sizeBytes: 1 + next(9),
    content: Buffer.from('gz'),
    insertedAt: time(),
  }));
  const webhooks = Array.from({ length: 9 }, () => ({
    ...madeAt(),
    url: `https://${pick(['a', 'b', 'hooks'])}.example.com/${pick(TEXTS)}`,
    subscribedEvents: EVENT_TYPES.filter(() => next(3) === 0),
    sealedSecret: 'sealed',
    sealedHeaders: 'sealed',
    updatedAt: time(),
  }));
  const deliveries = Array.from({ length: 90 }, (_, index) => ({
    ...madeAt(),
    webhook: pick(webhooks),
    eventTxid: '9',
    eventSeq: String(index),
    eventId: randomId(),
    eventType: pick(EVENT_TYPES),
    subject: randomId(),
    ...progress(pick(DELIVERY_STATUSES), next, time),
    updatedAt: time(),
  }));

  const em = orm.em.fork();
  await em.insertMany(Cluster, clusters);
  await em.insertMany(
    EnrollmentKey,
    keys.map((key) => ({ ...key, cluster: key.cluster.id })),
  );
  await em.insertMany(
    Node,
    nodes.map((node) => ({ ...node, cluster: node.cluster.id, enrollmentKey: node.enrollmentKey?.id ?? null })),
  );
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
      ...dates(key),
    })),
    nodes: nodes.map((node) => ({
      id: node.id,
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
      last_seen_at: iso(node.lastSeenAt),
      ...dates(node),
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

/** Fields of a delivery in this state. */
function progress(status: DeliveryStatus, next: (bound: number) => number, time: () => Date) {
  const attemptCount = status === 'pending' ? next(3) : 1 + next(3);
  const isAnswered = status === 'delivered' || next(2) === 0;
  const wasTried = attemptCount > 0;
  return {
    status,
    attemptCount,
    attemptsMax: 3,
    nextAttemptAt: status === 'pending' && wasTried ? time() : null,
    lastStatusCode: wasTried && isAnswered ? ([200, 204, 143, 503][next(4)] as number) : null,
    lastError: wasTried && !isAnswered ? 'The connection was refused.' : null,
    lastDurationMs: wasTried ? next(900) : null,
    lastAttemptedAt: wasTried ? time() : null,
  };
}

/** Fields of an execution in this state, as the CHECKs allow them (C7). */
function ending(status: ExecutionStatus, next: (bound: number) => number, time: () => Date) {
  const finished = status !== 'pending' && status !== 'sent';
  const ran = status === 'completed' || status === 'cancelled';
  const wasSent = status === 'sent' || status === 'completed' || (status !== 'pending' && next(2) === 0);
  return {
    status,
    exitCode: ran ? ([0, 1, 143][next(3)] as number) : null,
    output: ran ? ([null, '', ...TEXTS][next(TEXTS.length + 2)] as string | null) : null,
    outputTruncated: ran && next(4) === 0,
    sentAt: wasSent ? time() : null,
    completedAt: status === 'completed' ? time() : null,
    cancelledAt: status === 'cancelled' ? time() : null,
    finishedAt: finished ? time() : null,
  };
}

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

/** The enrolment key of this id, as text. */
export function keyBlob(id: string): string {
  return encodeEnrollmentBlob({ admin_urls: ['http://192.0.2.1:44000'], cluster_name: 'prod', nonce: nonceOf(id) });
}

function nonceOf(id: string): string {
  return `nonce of ${id}`;
}
