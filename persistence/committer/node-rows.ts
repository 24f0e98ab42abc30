/** What operators do to nodes and finished commands, as rows. */
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Notice } from '../../actors/notice.ts';
import { UNAVAILABLE } from '../../actors/refusal.ts';
import type { NodeFacts } from '../../transport/protocol/facts.ts';
import type { CommandId, ExecutionId } from '../../transport/protocol/ids.ts';
import type { ColdWrite, NodeEnrolled } from '../../actors/writes.ts';
import { Command, CommandExecution } from '../entities/command.ts';
import { Alias, DeletedNode, Node, RecoveryKey } from '../entities/node.ts';
import { refuseBeyondRoom } from './capacity.ts';
import { CHUNK_EXECUTIONS_MAX } from './chunks.ts';
import { moveMember } from './vpn-rows.ts';
import { GuardRefused, NOTHING_TO_TELL } from './written.ts';
import type { Written } from './written.ts';

type NodeWrite = Exclude<
  Extract<ColdWrite, { kind: `node-${string}` | `recovery-${string}` | `alias-${string}` | 'command-deleted' }>,
  NodeEnrolled
>;

/** Writes one of them; a row that is gone is a GuardRefused. */
export async function writeNode(em: EntityManager, write: NodeWrite): Promise<Written> {
  const at = 'atMs' in write ? new Date(write.atMs) : new Date(0);
  switch (write.kind) {
    case 'node-registered': {
      const { ports } = write;
      mustFind(
        await em.nativeUpdate(
          Node,
          { id: write.node },
          {
            version: write.version,
            idType: write.idType,
            selfUpdateEnabled: write.selfUpdateEnabled,
            updatedAt: at,
            httpPort: ports.http_port,
            sshPort: ports.ssh_port,
            hostMetricsPort: ports.host_metrics_port,
            wireguardMetricsPort: ports.wireguard_metrics_port,
            httpProxyPort: ports.http_proxy_port,
            socks5ProxyPort: ports.socks5_proxy_port,
          },
        ),
      );
      await writeFacts(em, write.node, write.facts);
      return NOTHING_TO_TELL;
    }
    case 'node-moved':
      return moveNode(em, write, at);
    case 'node-deleted':
      return deleteNode(em, write, at);
    case 'recovery-key-set':
      return setRecoveryKey(em, write, at);
    case 'recovery-key-cleared':
      mustFind(await em.nativeDelete(RecoveryKey, { node: write.node }));
      return NOTHING_TO_TELL;
    case 'alias-created':
      return createAlias(em, write, at);
    case 'alias-deleted':
      mustFind(await em.nativeDelete(Alias, { id: write.id }));
      return NOTHING_TO_TELL;
    case 'command-deleted':
      return deleteCommand(em, write.command);
    default:
      throw new Error(`no such write: ${JSON.stringify(write satisfies never)}`);
  }
}

type NodeWriteOf<K extends NodeWrite['kind']> = Extract<NodeWrite, { kind: K }>;

async function setRecoveryKey(em: EntityManager, write: NodeWriteOf<'recovery-key-set'>, at: Date): Promise<Written> {
  const { node, cluster, keyHash } = write;
  await mustBeIn(em, node, cluster);
  await em.upsert(RecoveryKey, { node, cluster, keyHash, insertedAt: at });
  return NOTHING_TO_TELL;
}

async function createAlias(em: EntityManager, write: NodeWriteOf<'alias-created'>, at: Date): Promise<Written> {
  const { id, node, cluster, name } = write;
  await mustBeIn(em, node, cluster);
  await em.insert(Alias, { id, node, cluster, name, insertedAt: at, updatedAt: at });
  return NOTHING_TO_TELL;
}

/**
 * Nothing is written of a node for a cluster that it has left, as an actor that outlived the move would: enrolments
 * would not find it.
 */
async function mustBeIn(em: EntityManager, node: string, cluster: string): Promise<void> {
  const rows = await em.execute<{ cluster_id: string }[]>('select cluster_id from node where id = ? for share', [node]);
  mustFind(rows.length);
  if (rows[0]?.cluster_id !== cluster) throw new GuardRefused(UNAVAILABLE);
}

/** What the agent of a node says of its machine, in place of what it said before; null: it says nothing. */
export async function writeFacts(em: EntityManager, node: string, facts: NodeFacts | null): Promise<void> {
  if (facts === null) await em.execute('delete from node_facts where node_id = ?', [node]);
  else
    await em.execute(
      'insert into node_facts (node_id, facts) values (?, ?::jsonb) on conflict (node_id) do update set facts = excluded.facts',
      [node, JSON.stringify(facts)],
    );
}

/** The recovery key goes with the move (E2), the place in the target is taken under its limit and its owner's room. */
async function moveNode(
  em: EntityManager,
  write: Extract<NodeWrite, { kind: 'node-moved' }>,
  at: Date,
): Promise<Written> {
  mustFind(await em.nativeUpdate(Node, { id: write.node, cluster: write.from }, { cluster: write.to, updatedAt: at }));
  await em.nativeUpdate(Alias, { node: write.node }, { cluster: write.to, updatedAt: at });
  await em.nativeDelete(RecoveryKey, { node: write.node });
  await moveMember(em, write.node, write.to, at);
  await em.execute(
    `insert into mesh_move (node_id, from_cluster_id, from_name, to_cluster_id, inserted_at) select ?, id, name, ?, ? from cluster where id = ?
    on conflict (node_id) do update set to_cluster_id = excluded.to_cluster_id, step = 'leave', inserted_at = excluded.inserted_at`,
    [write.node, write.to, at, write.from],
  );
  const taken = await em.execute<unknown[]>(
    'update cluster set node_count = node_count + 1 where id = ? and (node_limit is null or node_count < node_limit) returning id',
    [write.to],
  );
  if (taken.length === 0)
    throw new GuardRefused({ code: 'conflict', message: 'The target cluster has reached its node limit.' });
  await leave(em, write.from);
  await refuseBeyondRoom(em, write.to, write.from);
  return NOTHING_TO_TELL;
}

/**
 * Open executions become dropped; finished ones keep their result and the node's id (contract, 3.4). Those beyond one
 * chunk are without a node from then on: the sweeper drops them, chunk by chunk and at once, also after a crash.
 */
async function deleteNode(
  em: EntityManager,
  { node, isForgotten }: Extract<NodeWrite, { kind: 'node-deleted' }>,
  at: Date,
): Promise<Written> {
  const [row] = await em.execute<{ cluster_id: string; token_hash: Uint8Array }[]>(
    'select cluster_id, token_hash from node where id = ? for update',
    [node],
  );
  if (row === undefined) throw gone();
  const dropped = await em.execute<{ id: ExecutionId; command_id: CommandId; cluster_name: string }[]>(
    `update command_execution set status = 'dropped', finished_at = ?, updated_at = ? where id in (select id from command_execution where node_id = ? and finished_at is null order by id limit ? for update)
     returning id, command_id, cluster_name`,
    [at, at, node, CHUNK_EXECUTIONS_MAX],
  );
  await em.nativeDelete(Node, { id: node });
  if (isForgotten !== true) await em.upsert(DeletedNode, { id: node, tokenHash: row.token_hash, deletedAt: at });
  await leave(em, row.cluster_id);
  return {
    notices: dropped.map((execution): Notice => ({
      type: 'execution-changed',
      execution: execution.id,
      command: execution.command_id,
      node,
      clusterName: execution.cluster_name,
      status: 'dropped',
      exitCode: null,
    })),
  };
}

/** Executions go with their command, without events. */
async function deleteCommand(em: EntityManager, command: CommandId): Promise<Written> {
  const [open] = await em.execute<unknown[]>(
    'select 1 from command_execution where command_id = ? and finished_at is null limit 1',
    [command],
  );
  if (open !== undefined)
    throw new GuardRefused({
      code: 'conflict',
      message: 'Executions of the command have not finished. Cancel it first.',
    });
  mustFind(await em.nativeDelete(Command, { id: command }));
  await em.nativeDelete(CommandExecution, { commandId: command });
  return NOTHING_TO_TELL;
}

async function leave(em: EntityManager, cluster: string): Promise<void> {
  await em.execute('update cluster set node_count = node_count - 1 where id = ?', [cluster]);
}

function mustFind(count: number): void {
  if (count === 0) throw gone();
}

function gone(): GuardRefused {
  return new GuardRefused({ code: 'not_found', message: 'Resource not found' });
}
