/** The real committer on a real database, with rows to write to. */
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { v7 } from 'uuid';
import type { DomainEvent } from '../../../actors/event-catalogue.ts';
import type { Lease } from '../../../actors/behaviour.ts';
import { DatabaseUnavailable } from '../../../actors/ports.ts';
import type { Notice } from '../../../actors/notice.ts';
import type { Change } from '../../../actors/step.ts';
import type { ColdWrite, NodeEnrolled, Write } from '../../../actors/writes.ts';
import { GroupCommitter } from '../../../persistence/committer/committer.ts';
import { openDatabase, type Database, type DatabaseLimits } from '../../../persistence/connections/database.ts';
import { Leases } from '../../../persistence/ownership/leases.ts';
import { createVault } from '../../../persistence/vault.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../../transport/protocol/ids.ts';
import { commandRecord, MADE_MS, NOW_MS, PORTS, WELL } from '../actors.ts';
import { scaled } from '../busy.ts';
import { createDatabase } from './database.ts';
import { recordingLog } from '../log.ts';
import { scaledLimits } from './opened.ts';
import type { TestConnection } from './server.ts';
import { until } from '../until.ts';

/**
 * What a test begins with is stored again for so long where the database of a busy machine had no time for it, in ms.
 */
const STORE_MS_MAX = 10_000;

/** A cluster under the epoch at which the fixture owns it. */
export type ClusterLease = Lease & { readonly cluster: ClusterId };

/** Opens it on a database of its own, or beside another on the same one. A busy machine gets its time. */
export async function openFixture(
  t: ExecutionContext,
  beside?: TestConnection,
  limits: Partial<DatabaseLimits> = {},
): Promise<Fixture> {
  const connection = beside ?? (await createDatabase(t));
  const log = recordingLog();
  const database = await openDatabase({
    connection,
    poolMax: 10,
    log,
    limits: { ...scaledLimits(), ...limits },
  });
  t.teardown(() => database.close());
  return new Fixture(t, connection, database, log);
}

/** A committer over a database of its own, and what it told others. */
export class Fixture {
  readonly connection: TestConnection;
  readonly database: Database;
  readonly committer: GroupCommitter;
  readonly leases: Leases;
  readonly adminId = v7();
  /** Whether the committer takes itself for one of several admins. */
  hasPeers = true;
  readonly notices: Notice[] = [];
  readonly log: ReturnType<typeof recordingLog>;
  readonly #t: ExecutionContext;

  constructor(t: ExecutionContext, connection: TestConnection, database: Database, log: Fixture['log']) {
    this.#t = t;
    this.connection = connection;
    this.database = database;
    this.log = log;
    this.leases = new Leases(database.writes);
    this.committer = new GroupCommitter({
      database,
      vault: createVault(Buffer.alloc(32, 7)),
      adminId: this.adminId,
      hasPeers: () => this.hasPeers,
      log,
      committed: (told) => this.notices.push(...told),
    });
  }

  async rows<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.database.pool.query<R>(text, values)).rows;
  }

  /** Codes of what was refused, `ok` for what was not, in the order given. */
  async commit(lease: Lease | null, writes: readonly (Write | Change)[]): Promise<string[]> {
    const changes = writes.map((write) => ('write' in write ? write : change(write)));
    const refused = await this.committer.commit(lease, changes);
    return changes.map((one) => refused.find((refusal) => refusal.change === one)?.refusal.code ?? 'ok');
  }

  /**
   * Stores it; rejects when it is refused. Done again where the database of a busy machine had no time for it: what was
   * stored all the same meets itself then.
   */
  async store(lease: Lease | null, write: Write | Change): Promise<void> {
    const beganMs = performance.now();
    for (let isAgain = false; ; isAgain = true) {
      const outcome = await this.commit(lease, [write]).then(
        ([code]) => code,
        (error: unknown) => {
          if (!(error instanceof DatabaseUnavailable) || performance.now() - beganMs > scaled(STORE_MS_MAX))
            throw error;
          return null;
        },
      );
      if (outcome === 'ok' || (isAgain && outcome === 'conflict')) return;
      if (outcome !== null) throw new Error(`it was refused: ${outcome}`);
    }
  }

  async cluster(more: Partial<Extract<ColdWrite, { kind: 'cluster-created' }>> = {}): Promise<ClusterLease> {
    const id = v7() as ClusterId;
    const octets = [...Buffer.from(id.replaceAll('-', ''), 'hex').subarray(13)];
    await this.store(null, {
      kind: 'cluster-created' as const,
      id,
      name: `c${id.slice(-12)}`,
      ipv4Range: `10.${octets[0]}.${octets[1]}.0/24`,
      ipv6Range: `fd00:${id.slice(-4)}:${id.slice(-8, -4)}::/64`,
      nodeLimit: null,
      atMs: MADE_MS,
      ...more,
    });
    await this.hold(id);
    return { cluster: id, epoch: 1 };
  }

  /** Whoever owns a cluster keeps it for an hour: nobody renews here. */
  async hold(cluster: ClusterId): Promise<void> {
    await this.rows("update cluster_ownership set lease_until = now() + interval '1 h' where cluster_id = $1", [
      cluster,
    ]);
  }

  async key(cluster: ClusterId, usesRemaining: number | null, expiredAtMs: number | null = null): Promise<string> {
    const id = v7();
    await this.store(null, {
      kind: 'key-created',
      id,
      cluster,
      name: null,
      nonceHash: Buffer.from(id),
      sealedKey: 's',
      expiredAtMs,
      usesRemaining,
      labels: {},
      atMs: MADE_MS,
    });
    return id;
  }

  async node(lease: ClusterLease): Promise<NodeId> {
    const write = enrolment(lease.cluster, await this.key(lease.cluster, null));
    await this.store(lease, enrolled(write));
    return write.node;
  }

  /** A command with one execution on each node. */
  async executions(
    nodes: readonly NodeId[],
  ): Promise<{ readonly command: CommandId; readonly executions: readonly ExecutionId[] }> {
    const command = commandRecord({ id: v7() as CommandId });
    const executions = nodes.map((node) => ({ id: v7() as ExecutionId, node, clusterName: 'c' }));
    await this.store(null, { kind: 'command-created', command, executions });
    return { command: command.id, executions: executions.map((execution) => execution.id) };
  }

  /** A command on one node: its execution. */
  async execution(node: NodeId): Promise<ExecutionId> {
    const { executions } = await this.executions([node]);
    return executions[0] as ExecutionId;
  }

  async row(execution: ExecutionId): Promise<Record<string, unknown>> {
    const [row] = await this.rows<Record<string, unknown>>(
      'select status, exit_code, output, output_truncated, sent_at is not null as sent, completed_at is not null as completed, cancelled_at is not null as cancelled, cancel_requested_at is not null as cancelling from command_execution where id = $1',
      [execution],
    );
    return row ?? {};
  }

  async statuses(...executions: readonly ExecutionId[]): Promise<unknown[]> {
    return Promise.all(executions.map(async (execution) => (await this.row(execution))['status']));
  }

  async eventsOf(subject: string): Promise<string[]> {
    const text = 'select type from event where subject = $1 order by txid, seq';
    return (await this.rows<{ type: string }>(text, [subject])).map((row) => row.type);
  }

  /** A connection in a transaction that holds what this statement locks, until it ends or the test does. */
  async holder(locking: string, values: unknown[] = []): Promise<Client> {
    const client = new Client(this.connection);
    await client.connect();
    this.#t.teardown(() => client.end());
    await client.query('set idle_in_transaction_session_timeout = 0');
    await client.query('begin');
    await client.query(locking, values);
    return client;
  }

  /** Processes of the server that wait for a lock, once there are so many. */
  waiting(count: number): Promise<readonly number[]> {
    return until(`${count} in line`, async () => {
      const waiting = await this.inLine();
      return waiting.length === count ? waiting : null;
    });
  }

  /** Who waits for a lock now, by process id. */
  async inLine(): Promise<readonly number[]> {
    const waiting = await this.rows<{ pid: number }>(
      "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return waiting.map(({ pid }) => pid);
  }

  /** What was logged above the level of debugging. */
  loud(): readonly string[] {
    return this.log.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);
  }
}

/** A node is well, as its owner stores it. */
export function well(node: NodeId, more: Partial<Extract<Write, { kind: 'node-status' }>> = {}): Write {
  return { kind: 'node-status', node, status: 'healthy', standing: WELL, atMs: NOW_MS, ...more };
}

/** A change with one event about the entity of its write, so that a test sees whether the event was stored. */
export function change(write: Write, subject: string = subjectOf(write)): Change {
  return {
    write,
    events: [{ type: 'edge.core.test', subject, atMs: NOW_MS, data: { message: write.kind, requested_at: '' } }],
    notices: [{ type: 'events-stored' }],
  };
}

function subjectOf(write: Write): string {
  if ('execution' in write) return write.execution;
  if ('node' in write) return write.node;
  if ('command' in write) return typeof write.command === 'string' ? write.command : write.command.id;
  return 'id' in write ? write.id : v7();
}

/** A new node by a key. */
export function enrolment(cluster: ClusterId, enrollmentKey: string, more: Partial<NodeEnrolled> = {}): NodeEnrolled {
  const node = v7() as NodeId;
  return {
    kind: 'node-enrolled',
    node,
    cluster,
    enrollmentKey,
    spendsUse: true,
    existing: { type: 'none' },
    machineSecretHash: null,
    tokenHash: Buffer.from(v7()),
    sealedProxyPassword: 's',
    version: '1',
    idType: 'random',
    ports: PORTS,
    selfUpdateEnabled: false,
    wireguardPublicKey: null,
    facts: null,
    labels: {},
    aliases: [],
    atMs: NOW_MS,
    ...more,
  };
}

/** The change of an enrolment, with the event that its key was verified. */
export function enrolled(write: NodeEnrolled): Change {
  const data = {
    enrollment_key_id: write.enrollmentKey,
    cluster_name: 'c',
    name: null,
    uses_remaining: 99,
    result: 'verified' as const,
    verified_at: '',
  };
  const event: DomainEvent = { type: 'edge.enrollment_key.verified', subject: write.node, atMs: NOW_MS, data };
  return { write, events: [event], notices: [] };
}

/** A result of an execution. */
export function finish(
  execution: ExecutionId,
  more: Partial<Extract<Write, { kind: 'execution-finished' }>> = {},
): Write {
  return {
    kind: 'execution-finished',
    execution,
    status: 'completed',
    atMs: NOW_MS,
    sentAtMs: NOW_MS,
    ending: { exitCode: 0, output: 'done\n', parts: 0, truncated: false },
    ...more,
  };
}
