/** Reads of single rows that surfaces ask for on their way to an actor. */
import { raw, type MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Reads } from '../../api/ports.ts';
import type { Vault } from '../vault.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { asUnavailable } from '../availability.ts';
import { openIdempotencyRecord } from '../committer/idempotency-records.ts';
import { CommandExecution } from '../entities/command.ts';
import { IdempotencyKey } from '../entities/idempotency-key.ts';
import { Alias } from '../entities/node.ts';
import { batched } from './batch.ts';
import {
  ENROLLMENT_KEY_COLUMNS,
  enrollmentKeyRecord,
  NODE_COLUMNS,
  nodeRecord,
  type EnrollmentKeyRow,
  type NodeRow,
} from './record-rows.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

/** For how long an answer is remembered. Source: docs/api.md, Retried creates. */
export const IDEMPOTENCY_RECORD_HOURS = 24;

type LookUps = Pick<
  Reads,
  | 'clusterId'
  | 'executionNode'
  | 'aliasNode'
  | 'sshUsernameNode'
  | 'sshPublicKeyNode'
  | 'enrollmentKeyByNonce'
  | 'enrollmentKey'
  | 'nodeForEnrollment'
  | 'nodeByToken'
  | 'deletedByToken'
  | 'idempotencyRecord'
  | 'ping'
>;

/**
 * The look-ups of the read side. Those that a reconnecting fleet makes go past MikroORM's unit of work, and share
 * queries.
 */
export function lookUps(orm: MikroORM, pool: Pool, vault: Vault): LookUps {
  return {
    clusterId: async (name) => {
      if (name.includes('\0')) return null; // PostgreSQL cannot even be asked
      const [row] = await rowsOf<{ id: ClusterId }>(
        pool,
        'finding a cluster',
        sql`select id from cluster where name = ${name}`,
      );
      return row?.id ?? null;
    },
    executionNode: (id) =>
      entity('finding an execution', async () => {
        const row = await orm.em.fork().findOne(CommandExecution, { id }, { fields: ['nodeId', 'status'] });
        return row === null ? null : { node: row.nodeId as NodeId, status: row.status };
      }),
    aliasNode: (id) =>
      entity('finding an alias', async () => {
        const row = await orm.em.fork().findOne(Alias, { id }, { fields: ['node'] });
        return row === null ? null : (row.node.id as NodeId);
      }),
    sshUsernameNode: async (id) => {
      const [row] = await rowsOf<{ node: NodeId }>(
        pool,
        'finding an SSH username',
        sql`select node_id as node from ssh_username where id = ${id}::uuid`,
      );
      return row?.node ?? null;
    },
    sshPublicKeyNode: async (id) => {
      const [row] = await rowsOf<{ node: NodeId }>(
        pool,
        'finding an SSH public key',
        sql`select u.node_id as node from ssh_public_key k join ssh_username u on u.id = k.ssh_username_id where k.id = ${id}::uuid`,
      );
      return row?.node ?? null;
    },
    enrollmentKeyByNonce: (nonceHash) => key(pool, sql`k.nonce_hash = ${Buffer.from(nonceHash)}`),
    enrollmentKey: (id) => key(pool, sql`k.id = ${id}::uuid`),
    nodeForEnrollment: async (id) => {
      const [row] = await rowsOf<NodeRow & { machine_secret_hash: Buffer | null }>(
        pool,
        'finding a node',
        sql`select ${NODE_COLUMNS}, n.machine_secret_hash from node n join cluster c on c.id = n.cluster_id where n.id = ${id}::uuid`,
      );
      return row === undefined
        ? null
        : {
            node: nodeRecord(row),
            everConnected: row.last_seen_at !== null,
            machineSecretHash: row.machine_secret_hash,
          };
    },
    nodeByToken: batched((hashes: readonly Uint8Array[]) => nodesByToken(pool, hashes)),
    deletedByToken: batched((hashes: readonly Uint8Array[]) => deletedByToken(pool, hashes)),
    idempotencyRecord: (scope, key) =>
      entity('finding a remembered answer', async () => {
        const row = await orm.em.fork().findOne(IdempotencyKey, {
          scope,
          key,
          insertedAt: { $gt: raw(`now() - interval '${IDEMPOTENCY_RECORD_HOURS} hours'`) },
        });
        return row === null ? null : openIdempotencyRecord(vault, row);
      }),
    ping: async () => {
      await rowsOf(pool, 'asking whether it is there', sql`select 1`);
    },
  };
}

async function entity<T>(doing: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw asUnavailable(error, doing);
  }
}

async function key(pool: Pool, where: Sql): ReturnType<Reads['enrollmentKey']> {
  const [row] = await rowsOf<EnrollmentKeyRow>(
    pool,
    'finding an enrolment key',
    sql`select ${ENROLLMENT_KEY_COLUMNS} from enrollment_key k join cluster c on c.id = k.cluster_id where ${where}`,
  );
  return row === undefined ? null : enrollmentKeyRecord(row);
}

async function nodesByToken(
  pool: Pool,
  hashes: readonly Uint8Array[],
): Promise<readonly ({ readonly node: NodeId; readonly cluster: ClusterId } | null)[]> {
  const rows = await rowsOf<{ token_hash: Buffer; node: NodeId; cluster: ClusterId }>(
    pool,
    'finding the nodes of tokens',
    sql`
    select token_hash, id as node, cluster_id as cluster from node where token_hash = any(${hashes.map((hash) => Buffer.from(hash))}::bytea[])`,
  );
  const byHash = new Map(rows.map(({ token_hash, node, cluster }) => [token_hash.toString('hex'), { node, cluster }]));
  return hashes.map((hash) => byHash.get(Buffer.from(hash).toString('hex')) ?? null);
}

async function deletedByToken(pool: Pool, hashes: readonly Uint8Array[]): Promise<readonly boolean[]> {
  const rows = await rowsOf<{ token_hash: Buffer }>(
    pool,
    'finding deleted nodes of tokens',
    sql`select token_hash from deleted_node where token_hash = any(${hashes.map((hash) => Buffer.from(hash))}::bytea[])`,
  );
  const deleted = new Set(rows.map(({ token_hash }) => token_hash.toString('hex')));
  return hashes.map((hash) => deleted.has(Buffer.from(hash).toString('hex')));
}
