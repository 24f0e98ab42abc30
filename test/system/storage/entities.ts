/** A small fleet, made from a seed, as entities to store. */
import { v7 } from 'uuid';
import { EVENT_TYPES } from '../../../actors/events.ts';
import { EXECUTION_STATUSES, type ExecutionStatus } from '../../../actors/resources/command.ts';
import { NODE_STATUSES } from '../../../actors/resources/node.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../actors/resources/webhook.ts';
import { enrollmentKeyBlob } from '../../../actors/sealed-columns.ts';
import type { Vault } from '../../../persistence/vault.ts';
import { encodeEnrollmentBlob } from '../../../transport/protocol/enrollment.ts';
import type { Labels } from '../../../transport/protocol/labels.ts';
import { FACTS } from '../../support/actors.ts';
import { seededNumbers } from '../../support/seeded.ts';
import { ENVS, LABEL_KEYS } from '../../support/selectors.ts';
import { makeSelfUpdates } from './self-update-entities.ts';

/** Entities that hold each other, where rows hold ids. */
export type FleetEntities = ReturnType<typeof makeEntities>;

/** Names and texts with everything that a wildcard could trip over. */
const TEXTS = ['prod', 'prod-east', 'staging', 'pro_d', 'pro%d', String.raw`pro\d`, 'PROD', '100% *', 'ünïcode', 'x'];
const CLUSTERS = ['prod', 'prod-east', 'prod-west', 'staging', 'a', 'east-1'];
const VERSIONS = ['1.0.0', '1.2.3', '2.0.0-rc.1', '1_0'];

const EPOCH_MS = Date.UTC(2026, 0, 1);
const FAR_MS = Date.UTC(2099, 0, 1);

/** Makes them; the vault seals the keys. */
export function makeEntities(vault: Vault, seed: number) {
  const numbers = seededNumbers(seed);
  const next = (bound: number) => numbers() % bound;
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
  // drawn last, so that what stands above stays what it was
  const keyLabels = new Map(keys.map((key): [typeof key, Labels] => [key, next(2) === 0 ? {} : { env: pick(ENVS) }]));
  const descriptions = new Map(
    nodes.map((node, index) => [
      node,
      {
        facts: maybe(() => ({
          ...FACTS,
          hostname: `${pick(['web', 'db', 'Über'])}-${index % 9}`,
          os: pick(['debian', 'alpine', 'ubuntu']),
          arch: pick(['x86_64', 'aarch64']),
        })),
        labels: labelsOf(next),
      },
    ]),
  );
  const groups = ['web', 'web-east', 'old-web', 'all'].map((name) => ({
    ...madeAt(),
    name,
    description: maybe(() => pick(TEXTS)),
    targeting: { type: 'all' as const, labels: `env=${pick(ENVS)}` },
    updatedAt: time(),
  }));
  return {
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
    ...makeSelfUpdates({ next, pick, time, madeAt, randomId }, nodes),
  };
}

/** Up to five labels of a few keys and values, so that selectors find some. */
function labelsOf(next: (bound: number) => number): Labels {
  return Object.fromEntries(
    LABEL_KEYS.filter(() => next(2) === 0).map((key) => [
      key,
      key === 'env' ? (ENVS[next(3)] ?? '') : (['', 'a', 'b'][next(3)] ?? ''),
    ]),
  );
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
  const fields = {
    status,
    exitCode: ran ? ([0, 1, 143][next(3)] as number) : null,
    output: ran ? ([null, '', ...TEXTS][next(TEXTS.length + 2)] as string | null) : null,
    outputTruncated: ran && next(4) === 0,
    sentAt: wasSent ? time() : null,
    completedAt: status === 'completed' ? time() : null,
    cancelledAt: status === 'cancelled' ? time() : null,
  };
  const finishedAt = finished ? time() : null;
  return { ...fields, finishedAt: fields.completedAt ?? fields.cancelledAt ?? finishedAt };
}

/** The enrolment key of this id, as text. */
export function keyBlob(id: string): string {
  return encodeEnrollmentBlob({ admin_urls: ['http://192.0.2.1:44000'], cluster_name: 'prod', nonce: nonceOf(id) });
}

function nonceOf(id: string): string {
  return `nonce of ${id}`;
}
