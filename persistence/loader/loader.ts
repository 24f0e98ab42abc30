/** Rebuilds actors from rows: at boot, after a crash, and when their owner changes. */
import type { Pool } from 'pg';
import { NO_VPN, type ClusterState } from '../../actors/cluster/state.ts';
import type { CommandState, OpenAt } from '../../actors/command/state.ts';
import type { Loader } from '../../supervisors/ports.ts';
import type { CommandSummary } from '../../actors/resources/command.ts';
import type { ClusterId, CommandId, ExecutionId, NodeId } from '../../transport/protocol/ids.ts';
import { batched } from '../reads/batch.ts';
import { ms } from '../reads/record-rows.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { SUMMARY_COLUMNS } from '../reads/summaries.ts';
import { nodeByNode, nodesOfClusters } from './node-states.ts';
import { countSelfUpdates, selfUpdateState } from './self-updates.ts';
import { webhookState } from './webhooks.ts';
import { namedOpen, nextOpen, type NamedExecutions, type NextExecutions } from './open-executions.ts';

/** The Loader port over this pool. Every call rejects with DatabaseUnavailable when the database does not answer. */
export function createLoader(pool: Pool): Loader {
  const next = batched((questions: readonly NextExecutions[]) => nextOpen(pool, questions));
  const named = batched((questions: readonly NamedExecutions[]) => namedOpen(pool, questions));
  return {
    nodes: (clusters, isHere = () => false) => nodesOfClusters(pool, clusters, isHere),
    node: nodeByNode(pool),
    clusters: (ids) => clusterStates(pool, ids),
    command: (id) => commandState(pool, id),
    webhook: (id) => webhookState(pool, id),
    selfUpdate: (id) => selfUpdateState(pool, id),
    countSelfUpdate: batched((ids: readonly string[]) => countSelfUpdates(pool, ids)),
    openExecutions: async (node: NodeId, limit: number, except: readonly string[]) => {
      const found = await next({ node, limit: limit + 1, except });
      return { executions: found.slice(0, limit), more: found.length > limit };
    },
    findOpen: (node, executions) => named({ node, executions }),
  };
}

interface ClusterRow {
  readonly id: ClusterId;
  readonly name: string;
  readonly ipv4_range: string;
  readonly ipv6_range: string;
  readonly node_limit: number | null;
  readonly node_count: number;
  readonly inserted_at: Date;
  readonly updated_at: Date;
}

async function clusterStates(pool: Pool, ids: readonly ClusterId[]): Promise<readonly ClusterState[]> {
  const rows = await rowsOf<ClusterRow>(
    pool,
    'loading clusters',
    sql`
    select id, name, ipv4_range::text, ipv6_range::text, node_limit, node_count, inserted_at, updated_at from cluster where id = any(${ids}::uuid[])`,
  );
  return rows.map((row) => ({
    id: row.id,
    record: {
      id: row.id,
      name: row.name,
      ipv4Range: row.ipv4_range,
      ipv6Range: row.ipv6_range,
      nodeLimit: row.node_limit,
      nodeCount: row.node_count,
      insertedAtMs: ms(row.inserted_at),
      updatedAtMs: ms(row.updated_at),
    },
    vpn: NO_VPN,
  }));
}

interface CommandRow extends CommandSummary {
  readonly is_created: boolean;
  readonly open: readonly ExecutionId[] | null;
  readonly nodes: readonly NodeId[] | null;
  readonly statuses: readonly OpenAt['status'][] | null;
}

/** Counts and open executions come from one statement: of two, a change in between would leave them apart for good. */
async function commandState(pool: Pool, id: CommandId): Promise<CommandState | null> {
  const [row] = await rowsOf<CommandRow>(
    pool,
    'loading a command',
    sql`
    select exists (select from command where id = ${id}::uuid) as is_created, ${SUMMARY_COLUMNS}, array_agg(id::text order by id) filter (where finished_at is null) as open,
      array_agg(node_id::text order by id) filter (where finished_at is null) as nodes, array_agg(status order by id) filter (where finished_at is null) as statuses
    from command_execution where command_id = ${id}::uuid`,
  );
  if (row?.is_created !== true) return null;
  const { is_created: isCreated, open, nodes, statuses, ...summary } = row;
  const places = (open ?? []).map((execution, index): [ExecutionId, OpenAt] => [
    execution,
    { node: nodes?.[index] as NodeId, status: statuses?.[index] as OpenAt['status'] },
  ]);
  return { id, isCreated, summary, open: new Map(places) };
}
