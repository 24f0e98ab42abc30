/** The real committer on a real database, with rows to write to. */
import type { ExecutionContext } from 'ava';
import { v7 } from 'uuid';
import type { DomainEvent } from '../../actors/event-catalogue.ts';
import type { Lease } from '../../actors/behaviour.ts';
import type { Notice } from '../../actors/notice.ts';
import type { Change } from '../../actors/step.ts';
import type { ColdWrite, NodeEnrolled, Write } from '../../actors/writes.ts';
import { GroupCommitter } from '../../persistence/committer/committer.ts';
import { openDatabase } from '../../persistence/database.ts';
import { Leases } from '../../persistence/leases.ts';
import { createVault } from '../../persistence/vault.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { commandRecord, MADE_MS, NOW_MS, PORTS } from './actors.ts';
import { createDatabase } from './database.ts';
import { recordingLog } from './log.ts';
import type { TestConnection } from './server.ts';

/** A committer over a database of its own, and what it told others. */
export interface Fixture {
  readonly connection: TestConnection;
  readonly committer: GroupCommitter;
  readonly leases: Leases;
  readonly adminId: string;
  readonly notices: Notice[];
  readonly log: ReturnType<typeof recordingLog>;
  rows<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  /** Codes of what was refused, `ok` for what was not, in the order given. */
  commit(lease: Lease | null, writes: readonly (Write | Change)[]): Promise<string[]>;
  cluster(
    more?: Partial<Extract<ColdWrite, { kind: 'cluster-created' }>>,
  ): Promise<Lease & { readonly cluster: ClusterId }>;
  key(cluster: ClusterId, usesRemaining: number | null, expiredAtMs?: number | null): Promise<string>;
  node(lease: Lease & { readonly cluster: ClusterId }): Promise<NodeId>;
  /** A command with one execution on each node. */
  executions(
    nodes: readonly NodeId[],
  ): Promise<{ readonly command: CommandId; readonly executions: readonly ExecutionId[] }>;
  row(execution: ExecutionId): Promise<Record<string, unknown>>;
  eventsOf(subject: string): Promise<string[]>;
}

/** Opens it on a database of its own, or beside another on the same one. */
export async function openFixture(t: ExecutionContext, beside?: TestConnection): Promise<Fixture> {
  const connection = beside ?? (await createDatabase(t));
  const log = recordingLog();
  const database = await openDatabase({ connection, poolMax: 10, log });
  t.teardown(() => database.close());
  const notices: Notice[] = [];
  const adminId = v7();
  const committer = new GroupCommitter({
    database,
    vault: createVault(Buffer.alloc(32, 7)),
    adminId,
    log,
    committed: (told) => notices.push(...told),
  });
  const rows = async <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
    (await database.pool.query<R>(text, values)).rows;
  const fixture: Fixture = {
    connection,
    committer,
    adminId,
    notices,
    log,
    rows,
    leases: new Leases(database.writes),
    async commit(lease, writes) {
      const changes = writes.map((write) => ('write' in write ? write : change(write)));
      const refused = await committer.commit(lease, changes);
      return changes.map((one) => refused.find((refusal) => refusal.change === one)?.refusal.code ?? 'ok');
    },
    async cluster(more = {}) {
      const id = v7() as ClusterId;
      const octets = [...Buffer.from(id.replaceAll('-', ''), 'hex').subarray(13)];
      const write = {
        kind: 'cluster-created' as const,
        id,
        name: `c${id.slice(-12)}`,
        ipv4Range: `10.${octets[0]}.${octets[1]}.0/24`,
        ipv6Range: `fd00:${id.slice(-4)}:${id.slice(-8, -4)}::/64`,
        nodeLimit: null,
        atMs: MADE_MS,
        ...more,
      };
      const [outcome] = await fixture.commit(null, [write]);
      if (outcome !== 'ok') throw new Error(`the cluster was refused: ${outcome}`);
      // nobody renews here
      await rows("update cluster_ownership set lease_until = now() + interval '1 h' where cluster_id = $1", [id]);
      return { cluster: id, epoch: 1 };
    },
    async key(cluster, usesRemaining, expiredAtMs = null) {
      const id = v7();
      await fixture.commit(null, [
        {
          kind: 'key-created',
          id,
          cluster,
          name: null,
          nonceHash: Buffer.from(id),
          sealedKey: 's',
          expiredAtMs,
          usesRemaining,
          atMs: MADE_MS,
        },
      ]);
      return id;
    },
    async node(lease) {
      const write = enrolment(lease.cluster, await fixture.key(lease.cluster, null));
      const [outcome] = await fixture.commit(lease, [enrolled(write)]);
      if (outcome !== 'ok') throw new Error(`the node was refused: ${outcome}`);
      return write.node;
    },
    async executions(nodes) {
      const command = commandRecord({ id: v7() as CommandId });
      const executions = nodes.map((node) => ({ id: v7() as ExecutionId, node, clusterName: 'c' }));
      await fixture.commit(null, [{ kind: 'command-created', command, executions }]);
      return { command: command.id, executions: executions.map((execution) => execution.id) };
    },
    row: async (execution) =>
      (
        await rows<Record<string, unknown>>(
          'select status, exit_code, output, output_truncated, sent_at is not null as sent, completed_at is not null as completed, cancelled_at is not null as cancelled, cancel_requested_at is not null as cancelling from command_execution where id = $1',
          [execution],
        )
      )[0] ?? {},
    eventsOf: async (subject) =>
      (await rows<{ type: string }>('select type from event where subject = $1 order by txid, seq', [subject])).map(
        (row) => row.type,
      ),
  };
  return fixture;
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
