/**
 * Open executions that the owner of their node should move on: those that another admin stored just now, and those that
 * have stood still for a while although their node is reachable, since nobody was told, or a crash came between.
 */
import type { Pool } from 'pg';
import type { CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { dueNodes } from '../loader/self-updates.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { before, DATABASE_NOW } from './timestamps.ts';

/**
 * How long an execution may stand still before it counts as forgotten, in ms: well above a delivery, well below what an
 * operator would notice.
 */
export const FORGOTTEN_AFTER_MS = 2_000;

/**
 * Rows that are looked for when somebody said what was stored, or may have said so to nobody: five times the largest
 * fleet. What is beyond is found by the sweep.
 */
export const WOKEN_ROWS_MAX = 50_000;

/**
 * How far back an owner looks for what expired while nobody told its nodes, in ms: a connection that is gone is noticed
 * after 10 s and dialled again within 5; of nodes that come to life it looks as soon as a round of them was read, each
 * of whose statements is ended after 2.5 s; and a look that fails is tried again until it succeeds.
 */
const EXPIRED_MS_MAX = 60_000;

/** An execution that its node is to be told of: it is to be cancelled, or has expired. */
export interface NamedExecution {
  readonly node: NodeId;
  readonly execution: ExecutionId;
}

export interface Forgotten {
  /** Nodes with pending executions that they should look for. */
  readonly pending: readonly NodeId[];
  /** Executions whose cancellation is stored and not carried out. */
  readonly cancels: readonly NamedExecution[];
}

/** Behind which node and which execution a look goes on; null: it begins with the first. */
interface Behind {
  readonly node: NodeId | null;
  readonly execution: ExecutionId | null;
}

const FROM_FIRST: Behind = { node: null, execution: null };

/**
 * Looks at what has stood still for longer than FORGOTTEN_AFTER_MS, each at most `limit` of each kind: it goes on
 * behind what the look before it found, and begins with the first again where that was less. So no number of those that
 * stay as they are hides what comes behind them.
 */
export function createForgottenLooks(pool: Pool, adminId: string, limit: number): () => Promise<Forgotten> {
  let behind = FROM_FIRST;
  return async () => {
    const found = await findForgotten(pool, adminId, FORGOTTEN_AFTER_MS, limit, behind);
    const { pending, cancels } = found;
    behind = { node: pending[limit - 1] ?? null, execution: cancels[limit - 1]?.execution ?? null };
    return found;
  };
}

/**
 * At most `limit` of each that have stood still for longer than `afterMs`, among clusters that this admin owns, in the
 * order of their ids. Telling a node twice does no harm. One that is unreachable is told only of what is cancelled
 * before its agent had it: the rest waits for that agent, and is not read, however much it is.
 */
export async function findForgotten(
  pool: Pool,
  adminId: string,
  afterMs: number,
  limit: number,
  behind = FROM_FIRST,
): Promise<Forgotten> {
  const longAgo = before(DATABASE_NOW, afterMs);
  // A range in its order is read by the index of what is open. An equality may be read by the whole table for each
  // node, once a few nodes hold most of it.
  const pending = await rowsOf<{ node_id: NodeId }>(
    pool,
    'looking for forgotten executions',
    sql`
    select n.id as node_id from cluster_ownership w join node n on n.cluster_id = w.cluster_id and n.status <> 'unreachable'
      cross join lateral (
        select from command_execution e where e.node_id >= n.id and e.node_id <= n.id and e.finished_at is null and e.status = 'pending' and e.inserted_at < ${longAgo} order by e.node_id limit 1) forgotten
    where w.admin_id = ${adminId}::uuid and (${behind.node}::uuid is null or n.id > ${behind.node}::uuid) order by n.id limit ${limit}`,
  );
  const cancels = await rowsOf<NamedExecution>(
    pool,
    'looking for forgotten cancellations',
    sql`
    with asked as materialized (select id, node_id, status from command_execution where finished_at is null and cancel_requested_at < ${longAgo})
    select e.node_id as node, e.id as execution from asked e join node n on n.id = e.node_id join cluster_ownership w on w.cluster_id = n.cluster_id
    where w.admin_id = ${adminId}::uuid and (e.status = 'pending' or n.status <> 'unreachable')
      and (${behind.execution}::uuid is null or e.id > ${behind.execution}::uuid) order by e.id limit ${limit}`,
  );
  return { pending: pending.map((row) => row.node_id), cancels };
}

/** Executions on nodes of this admin that expired lately, at most `limit`, the last ones first. */
export async function expiredLately(pool: Pool, adminId: string, limit: number): Promise<readonly NamedExecution[]> {
  return rowsOf(
    pool,
    'looking for executions that expired meanwhile',
    sql`
    select e.node_id as node, e.id as execution from command_execution e join node n on n.id = e.node_id join cluster_ownership w on w.cluster_id = n.cluster_id and w.admin_id = ${adminId}::uuid
    where e.finished_at > ${before(DATABASE_NOW, EXPIRED_MS_MAX)} and e.status = 'expired' order by e.finished_at desc limit ${limit}::int`,
  );
}

/** What other admins said that they stored, as rows: at most `limit` each. Rejects with DatabaseUnavailable. */
export function wokenRows(pool: Pool, adminId: string, limit = WOKEN_ROWS_MAX) {
  const mine = sql`join node n on n.id = e.node_id join cluster_ownership w on w.cluster_id = n.cluster_id and w.admin_id = ${adminId}::uuid`;
  return {
    /** Nodes of this admin on which executions of these commands are pending. */
    pendingOf: async (commands: readonly CommandId[]): Promise<readonly NodeId[]> => {
      const rows = await rowsOf<{ node: NodeId }>(
        pool,
        'looking for executions of other admins',
        sql`select distinct e.node_id as node from command_execution e ${mine} where e.command_id = any(${commands}::uuid[]) and e.finished_at is null and e.status = 'pending' limit ${limit}::int`,
      );
      return rows.map(({ node }) => node);
    },
    /** Executions of these commands on nodes of this admin that are to be cancelled. */
    cancelsOf: (commands: readonly CommandId[]): Promise<readonly NamedExecution[]> =>
      rowsOf<NamedExecution>(
        pool,
        'looking for cancellations of other admins',
        sql`select e.node_id as node, e.id as execution from command_execution e ${mine} where e.command_id = any(${commands}::uuid[]) and e.finished_at is null and e.cancel_requested_at is not null limit ${limit}::int`,
      ),
    /** Nodes of this admin whose turn has come in these self-update requests; null: in any. */
    dueIn: (requests: readonly string[] | null) => dueNodes(pool, adminId, requests, limit),
    /** All that may have been missed, however short ago it was stored. */
    findMissed: async () => ({
      ...(await findForgotten(pool, adminId, 0, limit)),
      expired: await expiredLately(pool, adminId, limit),
    }),
  };
}
