/** One message of every type that an actor may get: the compiler misses none. */
import { v7 } from 'uuid';
import type { ActorKind, Addressed } from '../../../actors/messages.ts';
import { refuse } from '../../../actors/refusal.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import {
  commandRecord,
  FACTS,
  HEALTHY,
  NOW_MS,
  keyRecord,
  PORTS,
  REGISTRATION,
  result,
  session,
} from '../../support/actors.ts';
import { selfUpdateRecord } from '../../support/self-updates.ts';
import { answered } from '../../support/webhooks/webhook-actor.ts';

/** What a test speaks of. */
export interface Subject {
  readonly cluster: ClusterId;
  readonly node: NodeId;
  readonly key: string;
  readonly command: CommandId;
  readonly execution: ExecutionId;
  readonly webhook: string;
  /** A delivery that is finished. */
  readonly delivery: string;
  /** A request that has one node. */
  readonly 'self-update': string;
}

type Messages<K extends ActorKind> = Extract<Addressed, { to: { kind: K } }>['message'];
/** One message of every type; the compiler misses none. `replyTo` is filled in where there is one. */
type Cases<K extends ActorKind> = {
  readonly [T in Messages<K>['type']]: (
    subject: Subject,
  ) => Omit<Extract<Messages<K>, { type: T }>, 'replyTo' | 'type'>;
};

const REFUSED = { write: { kind: 'nothing' }, refusal: refuse('conflict', 'no').refusal } as const;
const credentials = { apiToken: 't', tokenHash: Buffer.alloc(32, 1), proxyPassword: 'p', sealedProxyPassword: 's' };

const NODE: Cases<'node'> = {
  'agent-connected': () => ({
    session: session(9),
    hello: { registration: REGISTRATION, report: HEALTHY, holding: [] },
  }),
  'agent-disconnected': () => ({ session: session(1), lastHeardMs: 0, isOurs: false }),
  'executions-asked': ({ execution }) => ({ session: session(1), ask: 1, executions: [execution] }),
  'executions-acknowledged': ({ execution }) => ({ session: session(1), executions: [execution], atMs: NOW_MS }),
  'output-part-arrived': ({ execution }) => ({ session: session(1), execution, part: 0, text: 'x' }),
  'results-arrived': ({ execution }) => ({ session: session(1), results: [result(1, { execution })] }),
  'facts-changed': () => ({ session: session(1), facts: FACTS }),
  'set-labels': () => ({ labels: { env: 'prod' }, removed: [] }),
  'remove-label': () => ({ key: 'env' }),
  'agent-reported': () => ({ session: session(1), report: HEALTHY }),
  'report-late': () => ({ session: session(1) }),
  'silence-elapsed': () => ({ dueMs: 0 }),
  'status-lasted': () => ({}),
  'ssh-attempted': () => ({
    session: session(1),
    attempt: 1,
    username: 'operator',
    credential: { method: 'password', password: 'wrong' },
  }),
  'ssh-verified': () => ({ session: session(1), attempt: 1, outcome: null }),
  'ssh-unanswered-reported': () => ({
    session: session(1),
    logins: [{ id: v7(), username: 'operator', method: 'password', ms_ago: 1 }],
  }),
  'ssh-grants-reported': () => ({ session: session(1), grants: [{ ssh_username_id: v7(), ssh_public_key_id: null }] }),
  'ssh-grants-checked': () => ({ session: session(1), sshUsernames: [v7()], sshPublicKeys: [] }),
  update: () => ({ due: [] }),
  'update-answered': () => ({ session: session(1), request: v7(), error: null }),
  'update-ended': () => ({
    session: session(1),
    outcome: { request: v7(), outcome: 'updated', from: '0.1.0', to: '0.2.0', error: null },
  }),
  'vpn-advertised': () => ({
    session: session(1),
    advertisement: {
      public_key: 'zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMw=',
      listen_port: 51_820,
      endpoints: [],
      relay_region: null,
      revision: null,
    },
    from: null,
  }),
  'vpn-observed': () => ({ publicKey: 'x', endpoint: '203.0.113.7:51820', isStable: null }),
  'direct-wanted': () => ({ session: session(1), publicKey: 'x' }),
  'vpn-reported': () => ({ session: session(1), report: { direct: 0, relayed: 0, none: 0, gateway: null } }),
  'vpn-told': ({ cluster }) => ({ cluster, body: { type: 'mesh-refused', reason: 'x' } }),
  run: () => ({ executions: [] }),
  rescan: () => ({}),
  'executions-loaded': () => ({ executions: [], more: false }),
  'executions-looked-up': () => ({ asked: [], executions: [], leftMs: new Map(), retry: { type: 'rescan' } }),
  'delivery-withheld': () => ({ session: session(1), executions: [] }),
  'executions-expired': () => ({ executions: [] }),
  cancel: ({ execution }) => ({ executions: [execution] }),
  'create-alias': () => ({ id: v7(), name: 'other', idempotency: null }),
  'delete-alias': () => ({ id: v7() }),
  'create-ssh-username': () => ({
    username: { id: v7(), username: 'operator', passwordHash: null, keys: [] },
    idempotency: null,
  }),
  'delete-ssh-username': () => ({ id: v7() }),
  'create-ssh-public-key': () => ({
    sshUsername: v7(),
    key: { id: v7(), keyName: 'k', line: 'ssh-ed25519 A', fingerprint: 'SHA256:A' },
    idempotency: null,
  }),
  'delete-ssh-public-key': () => ({ id: v7() }),
  'set-recovery-key': () => ({ keyHash: Buffer.alloc(32), key: 'k', idempotency: null }),
  'clear-recovery-key': () => ({}),
  'change-cluster': ({ cluster }) => ({ to: cluster, toName: 'c' }),
  delete: () => ({}),
  revoked: () => ({ reason: 'x' }),
  forget: () => ({}),
  refused: () => REFUSED,
};

const CLUSTER: Cases<'cluster'> = {
  create: ({ cluster }) => ({
    id: cluster,
    name: 'x',
    ipv4Range: '10.0.0.0/24',
    ipv6Range: 'fd00::/64',
    nodeLimit: null,
    idempotency: null,
  }),
  limit: () => ({ nodeLimit: 9 }),
  delete: () => ({}),
  'create-key': () => ({
    id: v7(),
    name: null,
    key: 'k',
    nonceHash: Buffer.alloc(32),
    sealedKey: 's',
    expiredAtMs: null,
    usesRemaining: 1,
    labels: {},
    idempotency: null,
  }),
  'update-key': ({ key, cluster }) => ({
    key: keyRecord({ id: key, cluster }),
    blob: 'b',
    name: 'n',
  }),
  'delete-key': ({ key }) => ({ id: key }),
  enroll: ({ key, cluster }) => ({
    request: {
      enrollment_key: 'k',
      node_id: v7() as NodeId,
      id_type: 'random',
      version: '1',
      ports: PORTS,
      self_update_enabled: false,
    },
    key: keyRecord({ id: key, cluster }),
    existing: null,
    recoveryKeyHash: null,
    machineSecretHash: null,
    credentials,
    aliasIds: [],
  }),
  'count-changed': () => ({ by: 0 }),
  'vpn-read': ({ cluster }) => ({ epoch: 1, number: 1, reading: { cluster, members: [], gateway: null } }),
  'vpn-wanted': ({ node }) => ({ node, revision: null }),
  'direct-wanted': ({ node }) => ({ node, publicKey: 'x' }),
  refused: () => REFUSED,
};

const COMMAND: Cases<'command'> = {
  create: ({ command }) => ({
    command: commandRecord({ id: command }),
    targets: [],
    executionIds: [],
    idempotency: null,
  }),
  'executions-changed': () => ({ changes: [] }),
  'executions-removed': () => ({ executions: [] }),
  rest: () => ({}),
  cancel: () => ({}),
  delete: () => ({}),
  refused: () => REFUSED,
};

const WEBHOOK: Cases<'webhook'> = {
  create: ({ webhook }) => ({
    id: webhook,
    url: 'https://x.test/',
    subscribedEvents: ['edge.core.test'],
    sealedSecret: 's',
    sealedHeaders: 'h',
    idempotency: null,
  }),
  delete: () => ({}),
  redeliver: ({ delivery }) => ({
    delivery: {
      id: delivery,
      cursor: '1-1',
      eventId: v7(),
      subject: v7(),
      attempts: 1,
      attemptsMax: 3,
      dueAtMs: null,
      unstored: null,
    },
  }),
  'deliveries-stored': () => ({}),
  'deliveries-loaded': () => ({ load: 0, deliveries: [], more: false }),
  'delivery-attempted': ({ delivery }) => ({ delivery, attempt: answered(204), random: 0 }),
  'delivery-due': ({ delivery }) => ({ delivery }),
  refused: () => REFUSED,
};

const SELF_UPDATE: Cases<'self-update'> = {
  create: (subject) => ({
    request: selfUpdateRecord({ id: subject['self-update'] }),
    targets: [{ node: subject.node, clusterName: 'demo' }],
    idempotency: null,
  }),
  'nodes-changed': () => ({}),
  'nodes-counted': () => ({ counted: null }),
  'count-failed': () => ({}),
  'count-again': () => ({}),
  refused: () => REFUSED,
};

/** Types of the messages that are answered. */
export const ASKED: ReadonlySet<string> = new Set([
  'redeliver',
  'cancel',
  'create-alias',
  'delete-alias',
  'set-recovery-key',
  'clear-recovery-key',
  'change-cluster',
  'delete',
  'create',
  'limit',
  'create-key',
  'update-key',
  'delete-key',
  'enroll',
]);

/** One message of every type of every kind of actor. */
export const EVERY_MESSAGE: Readonly<Record<ActorKind, Readonly<Record<string, (subject: Subject) => object>>>> = {
  node: NODE,
  cluster: CLUSTER,
  command: COMMAND,
  webhook: WEBHOOK,
  'self-update': SELF_UPDATE,
};
