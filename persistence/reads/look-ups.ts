/** Reads of single rows that surfaces ask for on their way to an actor. */
import type { Pool } from 'pg';
import type { ExecutionStatus } from '../../actors/resources/command.ts';
import type { Reads } from '../../api/ports.ts';
import type { Vault } from '../vault.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { IDEMPOTENCY_RECORD_HOURS, openIdempotencyRecord } from '../committer/idempotency-records.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

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
export function lookUps(pool: Pool, vault: Vault): LookUps {
  const one = async <R extends object>(doing: string, statement: Sql): Promise<R | undefined> =>
    (await rowsOf<R>(pool, doing, statement))[0];
  return {
    clusterId: async (name) => {
      if (name.includes('\0')) return null; // PostgreSQL cannot even be asked
      const row = await one<{ id: ClusterId }>('finding a cluster', sql`select id from cluster where name = ${name}`);
      return row?.id ?? null;
    },
    executionNode: async (id) => {
      const row = await one<{ node: NodeId; status: ExecutionStatus }>(
        'finding an execution',
        sql`select node_id as node, status from command_execution where id = ${id}::uuid`,
      );
      return row ?? null;
    },
    aliasNode: async (id) => {
      const row = await one<{ node: NodeId }>(
        'finding an alias',
        sql`select node_id as node from alias where id = ${id}::uuid`,
      );
      return row?.node ?? null;
    },
    recoveryKeyNode: async (id) => {
      const row = await one<{ node: NodeId }>(
        'finding a recovery key',
        sql`select node_id as node from recovery_key where node_id = ${id}::uuid`,
      );
      return row?.node ?? null;
    },
    sshUsernameNode: async (id) => {
      const row = await one<{ node: NodeId }>(
        'finding an SSH username',
        sql`select node_id as node from ssh_username where id = ${id}::uuid`,
      );
      return row?.node ?? null;
    },
    sshPublicKeyNode: async (id) => {
      const row = await one<{ node: NodeId }>(
        'finding an SSH public key',
        sql`select u.node_id as node from ssh_public_key k join ssh_username u on u.id = k.ssh_username_id where k.id = ${id}::uuid`,
      );
      return row?.node ?? null;
    },
    idempotencyRecord: async (scope, key) => {
      const row = await one<{ body_hash: string; sealed_answer: string }>(
        'finding a remembered answer',
        sql`select body_hash, sealed_answer from idempotency_key where scope = ${scope} and key = ${key} and inserted_at > now() - make_interval(hours => ${IDEMPOTENCY_RECORD_HOURS}::int)`,
      );
      if (row === undefined) return null;
      return openIdempotencyRecord(vault, { scope, key, bodyHash: row.body_hash, sealedAnswer: row.sealed_answer });
    },
    ping: async () => void (await one('asking whether it is there', sql`select 1`)),
  };
}
