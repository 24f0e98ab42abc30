/** What a test says to the actors of one admin, and the rows that they leave. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { v7 } from 'uuid';
import type { NodeState } from '../../../actors/node/state.ts';
import type { ActorKind, Addressed } from '../../../actors/messages.ts';
import type { Result } from '../../../actors/refusal.ts';
import type { DeliveryStatus } from '../../../actors/resources/webhook.ts';
import type { Database } from '../../../persistence/connections/database.ts';
import type { Kinds } from '../../../supervisors/runtime/kinds.ts';
import type { Tree } from '../../../supervisors/tree.ts';
import type { AdminFrameBody } from '../../../transport/protocol/frames.ts';
import type { ExecutionResult } from '../../../transport/protocol/execution-result.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { HEALTHY, keyRecord, PORTS, REGISTRATION, result, session } from '../../support/actors.ts';
import type { recordingLog } from '../../support/log.ts';
import { readsOf, VAULT } from '../../support/database/opened.ts';
import type { RecordedSender, RecordedSessions } from '../../support/recorded-links.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';
import { scaled } from '../../support/busy.ts';

/** Wait before the next try of what stands before a test, in ms. */
const AGAIN_MS = 100;

/** It is tried for so long, in ms. */
const PREPARE_MS_MAX = 10_000;

/** A node and the cluster that it is in. */
export interface Placed {
  readonly node: NodeId;
  readonly cluster: ClusterId;
}

/** A message that wants an answer, before it is known where the answer goes. */
type Question<M> = M extends { readonly replyTo: unknown } ? Omit<M, 'replyTo'> : never;

/** What the fixture of an admin is made of. */
export interface AdminParts {
  readonly connection: TestConnection;
  readonly database: Database;
  readonly tree: Tree;
  readonly adminId: string;
  readonly sessions: RecordedSessions;
  readonly webhookSender: RecordedSender;
  readonly log: ReturnType<typeof recordingLog>;
  /** Ends the tree, at most once. */
  readonly stop: () => Promise<void>;
}

/** The actors of one admin, and what a test says to them. */
export class SupervisorsFixture {
  readonly connection: TestConnection;
  readonly database: Database;
  readonly tree: Tree;
  readonly adminId: string;
  readonly sessions: RecordedSessions;
  readonly webhookSender: RecordedSender;
  readonly log: ReturnType<typeof recordingLog>;
  readonly stop: () => Promise<void>;

  constructor(parts: AdminParts) {
    this.connection = parts.connection;
    this.database = parts.database;
    this.tree = parts.tree;
    this.adminId = parts.adminId;
    this.sessions = parts.sessions;
    this.webhookSender = parts.webhookSender;
    this.log = parts.log;
    this.stop = parts.stop;
  }

  async rows<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.database.pool.query<R>(text, values)).rows;
  }

  async statusOf(table: 'command_execution' | 'node', id: string): Promise<string | undefined> {
    return (await this.rows<{ status: string }>(`select status from ${table} where id = $1`, [id]))[0]?.status;
  }

  /** Types of the events of a subject, in order of commit. */
  async eventsOf(subject: string): Promise<string[]> {
    const text = 'select type from event where subject = $1 order by txid, seq';
    return (await this.rows<{ type: string }>(text, [subject])).map((row) => row.type);
  }

  /** False: it was refused. */
  tell<K extends ActorKind>(kind: K, id: string, message: Kinds[K]['message']): boolean {
    return this.tree.directory.tell({ to: { kind, id }, message } as Addressed);
  }

  ask<K extends ActorKind>(kind: K, id: string, question: Question<Kinds[K]['message']>): Promise<Result<unknown>> {
    return this.tree.ask(
      (replyTo) => ({ to: { kind, id }, message: { ...question, replyTo } }) as unknown as Addressed,
    );
  }

  /** The value of the answer; rejects when it is a refusal. */
  async must<K extends ActorKind>(kind: K, id: string, question: Question<Kinds[K]['message']>): Promise<void> {
    const answer = await this.ask(kind, id, question);
    if (!answer.ok) throw new Error(`${answer.refusal.code}: ${answer.refusal.message}`);
  }

  /**
   * The same for what stands before a test: asked again where a busy machine had no time for it. What was stored
   * although its answer was lost meets itself then.
   */
  async prepare<K extends ActorKind>(kind: K, id: string, question: Question<Kinds[K]['message']>): Promise<void> {
    const beganMs = performance.now();
    for (let isAgain = false; ; isAgain = true) {
      const answer = await this.ask(kind, id, question);
      if (answer.ok || (isAgain && answer.refusal.code === 'conflict')) return;
      if (answer.refusal.code !== 'service_unavailable' || performance.now() - beganMs > scaled(PREPARE_MS_MAX))
        throw new Error(`${answer.refusal.code}: ${answer.refusal.message}`);
      await delay(AGAIN_MS);
    }
  }

  async createCluster(name = `c${randomUUID().slice(0, 8)}`): Promise<ClusterId> {
    const id = v7() as ClusterId;
    const ranges = await until('free ranges', () => readsOf(this.database).freeRanges());
    await this.prepare('cluster', id, { type: 'create', id, name, ...ranges, nodeLimit: null, idempotency: null });
    await until('the cluster is held', () => this.tree.held.holds(id));
    return id;
  }

  /** A key of the cluster, for any number of uses; its hash is of its id. */
  async createKey(cluster: ClusterId): Promise<string> {
    const id = v7();
    await this.prepare('cluster', cluster, {
      type: 'create-key',
      id,
      name: null,
      key: 'blob',
      nonceHash: VAULT.sha256(id),
      sealedKey: 'sealed',
      expiredAtMs: null,
      usesRemaining: null,
      labels: {},
      idempotency: null,
    });
    return id;
  }

  async enroll(cluster: ClusterId, key: string, node = v7() as NodeId): Promise<NodeId> {
    const apiToken = VAULT.newSecret();
    const request = {
      enrollment_key: 'blob',
      node_id: node,
      id_type: 'persistent' as const,
      version: '1.0.0',
      ports: PORTS,
      self_update_enabled: false,
    };
    await this.prepare('cluster', cluster, {
      type: 'enroll',
      request,
      key: keyRecord({ id: key, cluster, usesRemaining: null }),
      existing: null,
      recoveryKeyHash: null,
      machineSecretHash: null,
      credentials: { apiToken, tokenHash: VAULT.sha256(apiToken), proxyPassword: 'p', sealedProxyPassword: 's' },
      aliasIds: [],
    });
    return node;
  }

  /** Nodes in a new cluster, so many. */
  async createNodes(count: number): Promise<readonly Placed[]> {
    const cluster = await this.createCluster();
    const key = await this.createKey(cluster);
    const nodes: Placed[] = [];
    for (let made = 0; made < count; made += 1) nodes.push({ cluster, node: await this.enroll(cluster, key) });
    return nodes;
  }

  async createNode(): Promise<Placed> {
    const [placed] = await this.createNodes(1);
    if (placed === undefined) throw new Error('no node');
    return placed;
  }

  /** A node whose agent is connected by this session, welcome, and stored as connected. */
  async createLiveNode(number = 1): Promise<Placed> {
    const placed = await this.createNode();
    this.connect(placed.node, number);
    await this.sent('welcome', number);
    const { directory } = this.tree;
    await until('it is stored', () => {
      const state = directory.find({ kind: 'node', id: placed.node })?.state as NodeState | undefined;
      return state?.session?.id === session(number);
    });
    return placed;
  }

  connect(node: NodeId, number: number, holding: readonly ExecutionId[] = []): void {
    const hello = { registration: REGISTRATION, report: HEALTHY, holding };
    this.tell('node', node, { type: 'agent-connected', session: session(number), hello });
  }

  /** The first frame of this type that this session was sent, or any of them; waits for it. */
  sent<T extends AdminFrameBody['type']>(type: T, number?: number): Promise<Extract<AdminFrameBody, { type: T }>> {
    return until(`a frame "${type}"`, () => {
      const found = this.sessions.frames.find(
        ({ frame, session: to }) => frame.type === type && (number === undefined || to === session(number)),
      );
      return found?.frame as Extract<AdminFrameBody, { type: T }> | undefined;
    });
  }

  /** A command on these nodes. `expiredAtMs`: Unix time, null for never. */
  async run(
    targets: readonly Placed[],
    expiredAtMs: number | null = null,
  ): Promise<{ readonly command: CommandId; readonly executions: readonly ExecutionId[] }> {
    const command = v7() as CommandId;
    const executions = targets.map(() => v7() as ExecutionId);
    await this.prepare('command', command, this.#creation(command, targets, executions, expiredAtMs));
    return { command, executions };
  }

  /** The same, asked once; rejects when it is refused. */
  async tryToRun(targets: readonly Placed[]): Promise<void> {
    const command = v7() as CommandId;
    const executions = targets.map(() => v7() as ExecutionId);
    await this.must('command', command, this.#creation(command, targets, executions));
  }

  #creation(
    command: CommandId,
    targets: readonly Placed[],
    executionIds: readonly ExecutionId[],
    expiredAtMs: number | null = null,
  ): Question<Kinds['command']['message']> {
    return {
      type: 'create',
      command: {
        id: command,
        text: 'true',
        targeting: { type: 'all' },
        timeoutMs: null,
        expiredAtMs,
        insertedAtMs: Date.now(),
      },
      targets: targets.map((target) => ({ ...target, clusterName: 'c' })),
      executionIds,
      idempotency: null,
    };
  }

  /** A command on one node: its execution. */
  async execution(target: Placed): Promise<ExecutionId> {
    const { executions } = await this.run([target]);
    return executions[0] as ExecutionId;
  }

  /** An agent says how an execution ended. */
  finish(node: NodeId, number: number, execution: ExecutionId, more: Partial<ExecutionResult> = {}): void {
    const results = [result(1, { execution, ...more })];
    this.tell('node', node, { type: 'results-arrived', session: session(number), results });
  }

  /** A webhook for test events. */
  async createWebhook(): Promise<string> {
    const id = v7();
    await this.must('webhook', id, {
      type: 'create',
      id,
      url: 'https://receiver.test/',
      subscribedEvents: ['edge.core.test'],
      sealedSecret: 's',
      sealedHeaders: 'h',
      idempotency: null,
    });
    return id;
  }

  /** Stores a delivery of a webhook as routing would, and answers its id. */
  async storeDelivery(
    webhook: string,
    more: { readonly status?: DeliveryStatus; readonly attempts?: number; readonly subject?: string } = {},
  ): Promise<string> {
    const { status = 'pending', attempts = 0, subject = v7() } = more;
    const [row] = await this.rows<{ id: string }>(
      `with e as (insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.core.test', $2, now(), '{}') returning *)
      insert into webhook_delivery (webhook_id, event_txid, event_seq, event_id, event_type, subject, status, attempt_count, attempts_max, inserted_at, updated_at)
        select $1, txid, seq, id, type, subject, $3, $4, 3, now(), now() from e returning id`,
      [webhook, subject, status, attempts],
    );
    if (row === undefined) throw new Error('no delivery was stored');
    return row.id;
  }
}

/** `ok`, or the code of the refusal. */
export function codeOf(answer: Result<unknown>): string {
  return answer.ok ? 'ok' : answer.refusal.code;
}
