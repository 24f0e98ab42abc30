/** A tree of actors on a real database, with sessions that only remember what they were told. */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { v7 } from 'uuid';
import { createBus } from '../../../actors/bus.ts';
import type { Notice } from '../../../actors/notice.ts';
import type { Clock } from '../../../actors/ports.ts';
import type { Log } from '../../../transport/net/log.ts';
import { createTracer } from '../../../actors/tracer.ts';
import type { Result } from '../../../actors/refusal.ts';
import type { DeliveryStatus } from '../../../actors/resources/webhook.ts';
import type { Attempt, DeliveryRef } from '../../../actors/webhook/delivery.ts';
import { AdminRegistry } from '../../../persistence/admin-directory.ts';
import { GroupCommitter } from '../../../persistence/committer/committer.ts';
import { openDatabase, type Database } from '../../../persistence/database.ts';
import { readVpns } from '../../../persistence/vpn/readings.ts';
import { Leases, LEASE_MS } from '../../../persistence/leases.ts';
import { createLoader } from '../../../persistence/loader/loader.ts';
import { createReads } from '../../../persistence/reads/reads.ts';
import { createPasswords } from '../../../persistence/ssh/passwords.ts';
import { createSshLogins } from '../../../persistence/ssh/login-check.ts';
import { createVault } from '../../../persistence/vault.ts';
import type { KindTable } from '../../../supervisors/runtime/kinds.ts';
import { createTree, type Tree } from '../../../supervisors/tree.ts';
import { createLeaseClock, systemClock } from '../../../transport/net/clock.ts';
import type { AdminFrameBody } from '../../../transport/protocol/frames.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId, SessionId } from '../../../transport/protocol/ids.ts';
import { HEALTHY, keyRecord, PORTS, REGISTRATION, SETTINGS } from '../../support/actors.ts';
import { createDatabase } from '../../support/database.ts';
import { recordingLog } from '../../support/log.ts';
import type { Scope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import type { Committer, Loader, SessionLink, WebhookSender } from '../../../supervisors/ports.ts';

/** What sessions were told, in order. */
export interface RecordedSessions extends SessionLink {
  readonly frames: { readonly session: SessionId; readonly frame: AdminFrameBody }[];
  readonly hungUp: { readonly session: SessionId | null; readonly node: NodeId | null; readonly code: number }[];
}

/** Sessions that remember. */
export function recordedSessions(): RecordedSessions {
  const frames: RecordedSessions['frames'] = [];
  const hungUp: RecordedSessions['hungUp'] = [];
  return {
    frames,
    hungUp,
    send: (session, frame) => void frames.push({ session, frame }),
    hangUp: (session, code) => void hungUp.push({ session, node: null, code }),
    renew: (session) => void hungUp.push({ session, node: null, code: 4010 }),
    hangUpNode: (node, code) => void hungUp.push({ session: null, node, code }),
  };
}

/** Requests to webhooks, in order. Each waits until a test says what it came to. */
export interface RecordedSender extends WebhookSender {
  readonly posted: {
    readonly webhook: string;
    readonly delivery: DeliveryRef;
    readonly end: (attempt: Attempt | null) => void;
  }[];
  readonly cuts: string[];
}

/** Posts that remember. */
export function recordedSender(): RecordedSender {
  const posted: RecordedSender['posted'] = [];
  const cuts: string[] = [];
  return {
    posted,
    cuts,
    post: (webhook, delivery) =>
      new Promise((end) => {
        posted.push({ webhook: webhook.id, delivery, end });
      }),
    cut: (webhook) => void cuts.push(webhook),
  };
}

/** What a test puts in place of the real parts. */
export interface SupervisorsFixtureOptions {
  readonly connection?: TestConnection;
  readonly name?: string;
  readonly kinds?: (table: KindTable) => KindTable;
  readonly committer?: (real: GroupCommitter) => Committer;
  readonly loader?: (real: Loader) => Loader;
  readonly log?: Log;
  readonly clock?: Clock;
  readonly leaseClockMs?: () => number;
  readonly maxWireguardPeers?: number;
}

/** The actors of one admin, over a database of their own. */
export interface SupervisorsFixture {
  readonly connection: TestConnection;
  readonly database: Database;
  readonly committer: GroupCommitter;
  readonly leases: Leases;
  readonly tree: Tree;
  readonly adminId: string;
  readonly sessions: RecordedSessions;
  readonly webhookSender: RecordedSender;
  readonly log: ReturnType<typeof recordingLog>;
  readonly notices: Notice[];
  /** Resolves when a notice fits. */
  noticed(fits: (notice: Notice) => boolean): Promise<void>;
  rows<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  statusOf(execution: ExecutionId): Promise<string | undefined>;
  /** Types of the events of a subject, in order of commit. */
  eventsOf(subject: string): Promise<string[]>;
  createCluster(name?: string, nodeLimit?: number | null): Promise<ClusterId>;
  /** A key of the cluster; its hash is of its id. */
  createKey(cluster: ClusterId, usesRemaining: number | null): Promise<string>;
  enroll(cluster: ClusterId, key: string, node?: NodeId): Promise<Result<unknown>>;
  /** A cluster with so many enrolled nodes. */
  plant(nodes: number, name?: string): Promise<{ readonly cluster: ClusterId; readonly nodes: readonly NodeId[] }>;
  /** A webhook for test events. */
  createWebhook(): Promise<string>;
  /** Stores a delivery of a webhook as routing would, and answers its id. */
  storeDelivery(
    webhook: string,
    more?: { readonly status?: DeliveryStatus; readonly attempts?: number; readonly subject?: string },
  ): Promise<string>;
  connect(node: NodeId, session: number, holding?: readonly ExecutionId[]): void;
  run(
    targets: readonly { readonly node: NodeId; readonly cluster: ClusterId }[],
  ): Promise<{ readonly command: CommandId; readonly executions: readonly ExecutionId[] }>;
  stop(): Promise<void>;
}

let supervisorsFixtures = 0;

/** Starts a tree that ends with the scope. Waits until it owns what there is to own. */
export async function startSupervisors(
  scope: Scope,
  options: SupervisorsFixtureOptions = {},
): Promise<SupervisorsFixture> {
  const connection = options.connection ?? (await createDatabase(scope));
  const log = recordingLog();
  const database = await openDatabase({ connection, poolMax: 10, log });
  const vault = createVault(Buffer.alloc(32, 7));
  const reads = createReads({
    ...database,
    vault,
    domain: 'edge.test',
    ranges: { v4Ranges: ['100.64.0.0/10'], v4Prefix: 24 },
  });
  supervisorsFixtures += 1;
  const registry = new AdminRegistry(
    database.orm,
    {
      name: options.name ?? `admin-${supervisorsFixtures}`,
      url: `http://admin-${supervisorsFixtures}.test`,
      adminClusterName: 'test',
      version: '0',
      maxWireguardPeers: options.maxWireguardPeers ?? 10_000,
    },
    systemClock,
  );
  const adminId = await until('the first check-in', () => registry.checkIn()); // as an admin waits for its database
  const bus = createBus(log);
  const notices: Notice[] = [];
  const stirred = new EventEmitter().setMaxListeners(0);
  bus.subscribe((told) => {
    notices.push(...told);
    stirred.emit('told');
  });
  const committer = new GroupCommitter({ database, vault, adminId, log, committed: (told) => bus.publish(told) });
  const leases = new Leases(database.writes);
  const sessions = recordedSessions();
  const webhookSender = recordedSender();
  const loader = createLoader(database.pool);
  const tree = createTree({
    adminId,
    sessions,
    webhookSender,
    ssh: createSshLogins({ pool: database.pool, passwords: createPasswords(), log }),
    tracer: createTracer(null),
    clusterVpnRows: { read: (clusters) => readVpns(database.pool, clusters) },
    gateway: { become: () => {} },
    bus,
    log: options.log ?? log,
    clock: options.clock ?? systemClock,
    settings: SETTINGS,
    leaseMs: LEASE_MS,
    committer: options.committer?.(committer) ?? committer,
    loader: options.loader?.(loader) ?? loader,
    leases,
    checkIn: () => registry.checkIn(),
    leaseClockMs: options.leaseClockMs ?? createLeaseClock(),
    ...(options.kinds !== undefined && { kinds: options.kinds }),
  });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await tree.ownership
      .stop()
      .then(() => registry.checkOut())
      .catch(() => undefined); // a test may have taken its database away
    await database.close();
  };
  scope.teardown(stop);
  await tree.ownership.start();

  const rows = async <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
    (await database.pool.query<R>(text, values)).rows;
  const fixture: SupervisorsFixture = {
    connection,
    database,
    committer,
    leases,
    tree,
    adminId,
    sessions,
    webhookSender,
    log,
    notices,
    rows,
    stop,
    async noticed(fits) {
      while (!notices.some(fits)) await once(stirred, 'told');
    },
    statusOf: async (execution) =>
      (await rows<{ status: string }>('select status from command_execution where id = $1', [execution]))[0]?.status,
    eventsOf: async (subject) =>
      (await rows<{ type: string }>('select type from event where subject = $1 order by txid, seq', [subject])).map(
        (row) => row.type,
      ),
    async createCluster(name = `c${randomUUID().slice(0, 8)}`, nodeLimit = null) {
      const id = v7() as ClusterId;
      const ranges = await reads.freeRanges();
      if (ranges === null) throw new Error('no range is free');
      must(
        await tree.ask((replyTo) => ({
          to: { kind: 'cluster', id },
          message: { type: 'create', replyTo, id, name, ...ranges, nodeLimit, idempotency: null },
        })),
      );
      await until('the cluster is held', () => tree.held.holds(id));
      return id;
    },
    async createKey(cluster, usesRemaining) {
      const id = v7();
      must(
        await tree.ask((replyTo) => ({
          to: { kind: 'cluster', id: cluster },
          message: {
            type: 'create-key',
            replyTo,
            id,
            name: null,
            key: 'blob',
            nonceHash: vault.sha256(id),
            sealedKey: 'sealed',
            expiredAtMs: null,
            usesRemaining,
            idempotency: null,
          },
        })),
      );
      return id;
    },
    async enroll(cluster, key, node = v7() as NodeId) {
      const [stored, existing] = await Promise.all([reads.enrollmentKey(key), reads.nodeForEnrollment(node)]);
      const apiToken = vault.newSecret();
      const credentials = { apiToken, tokenHash: vault.sha256(apiToken), proxyPassword: 'p', sealedProxyPassword: 's' };
      const request = {
        enrollment_key: 'blob',
        node_id: node,
        id_type: 'persistent' as const,
        version: '1.0.0',
        ports: PORTS,
        self_update_enabled: false,
      };
      return tree.ask((replyTo) => ({
        to: { kind: 'cluster', id: cluster },
        message: {
          type: 'enroll',
          replyTo,
          request,
          key: stored ?? keyRecord({ id: key, cluster }),
          existing,
          recoveryKeyHash: null,
          machineSecretHash: null,
          credentials,
          aliasIds: [],
        },
      }));
    },
    async plant(count, name) {
      const cluster = await fixture.createCluster(name);
      const key = await fixture.createKey(cluster, null);
      const nodes = Array.from({ length: count }, () => v7() as NodeId);
      for (const node of nodes) must(await fixture.enroll(cluster, key, node));
      return { cluster, nodes };
    },
    async createWebhook() {
      const id = v7();
      must(
        await tree.ask((replyTo) => ({
          to: { kind: 'webhook', id },
          message: {
            type: 'create',
            replyTo,
            id,
            url: 'https://receiver.test/',
            subscribedEvents: ['edge.core.test'],
            sealedSecret: 's',
            sealedHeaders: 'h',
            idempotency: null,
          },
        })),
      );
      return id;
    },
    async storeDelivery(webhook, { status = 'pending', attempts = 0, subject = v7() } = {}) {
      const [row] = await rows<{ id: string }>(
        `with e as (insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.core.test', $2, now(), '{}') returning *)
        insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, inserted_at, updated_at)
          select $1, txid, seq, id, type, subject, $3, $4, 3, now(), now() from e returning id`,
        [webhook, subject, status, attempts],
      );
      if (row === undefined) throw new Error('no delivery was stored');
      return row.id;
    },
    connect(node, session, holding = []) {
      tree.directory.tell({
        to: { kind: 'node', id: node },
        message: {
          type: 'agent-connected',
          session: session as SessionId,
          hello: { registration: REGISTRATION, report: HEALTHY, holding },
        },
      });
    },
    async run(targets) {
      const command = v7() as CommandId;
      const executions = targets.map(() => v7() as ExecutionId);
      const record = {
        id: command,
        text: 'true',
        targeting: { type: 'all' as const },
        timeoutMs: null,
        expiredAtMs: null,
        insertedAtMs: Date.now(),
      };
      must(
        await tree.ask((replyTo) => ({
          to: { kind: 'command', id: command },
          message: {
            type: 'create',
            replyTo,
            command: record,
            targets: targets.map((target) => ({ ...target, clusterName: 'c' })),
            executionIds: executions,
            idempotency: null,
          },
        })),
      );
      return { command, executions };
    },
  };
  return fixture;
}

/** The value, or an error that says why there is none. */
export function must<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`${result.refusal.code}: ${result.refusal.message}`);
  return result.value;
}
