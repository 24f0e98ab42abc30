/** Reads of single rows that surfaces ask for on their way to an actor. */
import { raw, type MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Reads } from '../../api/ports.ts';
import type { Vault } from '../vault.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { asUnavailable } from '../availability.ts';
import { IDEMPOTENCY_RECORD_HOURS, openIdempotencyRecord } from '../committer/idempotency-records.ts';
import { CommandExecution } from '../entities/command.ts';
import { IdempotencyKey } from '../entities/idempotency-key.ts';
import { Alias } from '../entities/node.ts';
import { rowsOf, sql } from './sql.ts';

type LookUps = Pick<
  Reads,
  | 'clusterId'
  | 'executionNode'
  | 'aliasNode'
  | 'recoveryKeyNode'
  | 'sshUsernameNode'
  | 'sshPublicKeyNode'
  | 'idempotencyRecord'
  | 'ping'
>;

/** A cluster by its name, which node something belongs to, and idempotency records. */
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
    recoveryKeyNode: async (id) => {
      const [row] = await rowsOf<{ node: NodeId }>(
        pool,
        'finding a recovery key',
        sql`select node_id as node from recovery_key where node_id = ${id}::uuid`,
      );
      return row?.node ?? null;
    },
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
