/** Nodes as their actors hold them, many at once. */
import type { Pool, PoolClient } from 'pg';
import { NOTHING_READ, OPEN_EXECUTIONS_MAX, youngest, type NodeState } from '../../actors/node/state.ts';
import type { AliasRecord, VpnPlace, OpenExecution } from '../../actors/records.ts';
import { FULL_FACTS_ALLOWANCE } from '../../actors/node/facts.ts';
import { FULL_LOOK_UPS } from '../../actors/node/look-ups.ts';
import { FULL_VPN_ALLOWANCES } from '../../actors/node/vpn-state.ts';
import { FULL_ALLOWANCE } from '../../actors/ssh/login-attempts.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { isAway } from '../../actors/ports.ts';
import { vpnPlaces } from '../vpn/readings.ts';
import { batched } from '../reads/batch.ts';
import { NODE_COLUMNS, nodeRecord, type NodeRow } from '../reads/record-rows.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { firstOpen } from './open-executions.ts';
import { nodeUpdates, UPDATES_COLUMN, type UpdateRow } from './self-updates.ts';

/** Nodes that are loaded by one round of statements: keeps each far below its limit. */
export const LOADED_AT_ONCE_MAX = 500;

/**
 * So many open executions are read with each of many nodes: most have one. What else is open is a backlog, which a node
 * reads once its agent is there: of nodes that are away it may be all that they may hold, and none of it is of use.
 */
export const OPEN_AT_FIRST = 8;

/**
 * States of all nodes of these clusters, LOADED_AT_ONCE_MAX at a time, each with its first OPEN_AT_FIRST open
 * executions. `isHere`: asked before each round which of them are left out.
 */
export async function* nodesOfClusters(
  pool: Pool,
  clusters: readonly ClusterId[],
  isHere: (node: NodeId) => boolean,
): AsyncGenerator<readonly NodeState[], void> {
  const rows = await rowsOf<{ id: NodeId }>(
    pool,
    'loading nodes',
    sql`select id from node where cluster_id = any(${clusters}::uuid[])`,
  );
  for (let start = 0; start < rows.length; start += LOADED_AT_ONCE_MAX) {
    const round = rows.slice(start, start + LOADED_AT_ONCE_MAX).map(({ id }) => id);
    yield await nodeStates(
      pool,
      round.filter((id) => !isHere(id)),
      OPEN_AT_FIRST,
    );
  }
}

/**
 * States of these nodes, each with its first open executions, at most `openMax`; nodes that do not exist are left out.
 * Without sessions: who is connected is not in rows.
 */
export async function nodeStates(
  pool: Pool,
  ids: readonly NodeId[],
  openMax = OPEN_EXECUTIONS_MAX,
): Promise<readonly NodeState[]> {
  if (ids.length === 0) return [];
  const [nodes, aliases, open, places] = await Promise.all([
    rowsOf<NodeRow & { updates: readonly UpdateRow[] | null }>(
      pool,
      'loading nodes',
      sql`select ${NODE_COLUMNS}, ${UPDATES_COLUMN} from node n join cluster c on c.id = n.cluster_id where n.id = any(${ids}::uuid[])`,
    ),
    aliasesOf(pool, ids),
    firstOpen(pool, ids, openMax + 1), // one more tells that there is a backlog
    vpnPlaces(pool, ids),
  ]);
  const openOf = Map.groupBy(open, (execution) => execution.node);
  return nodes.map((row) => {
    const ofNode = openOf.get(row.id) ?? [];
    const state = nodeState(
      row,
      aliases.get(row.id) ?? [],
      ofNode.slice(0, openMax),
      places.get(row.id) ?? null,
      row.updates,
    );
    return { ...state, backlog: ofNode.length > openMax };
  });
}

/** Nodes that are read together when they are asked for one by one: some 8,000 executions, if each holds its most. */
const ASKED_TOGETHER_MAX = 32;

/**
 * The state of a node, or null. Nodes that are asked for at once share statements, as those of a fleet are that comes
 * back before its cluster was read, and each is read by statements that begin after it was asked for (C3). Where they
 * cannot be read together, each is read by itself: one whose rows make no state keeps no other away (L4).
 */
export function nodeByNode(pool: Pool): (id: NodeId) => Promise<NodeState | null> {
  const together = batched(
    async (ids: readonly NodeId[]) => {
      const states = await nodeStates(pool, [...new Set(ids)]);
      const found = new Map(states.map((state) => [state.record.id, state]));
      return ids.map((id) => found.get(id) ?? null);
    },
    { keysMax: ASKED_TOGETHER_MAX },
  );
  return async (id) => {
    try {
      return await together(id);
    } catch (error) {
      if (isAway(error)) throw error;
      return (await nodeStates(pool, [id]))[0] ?? null;
    }
  };
}

/** Aliases of these nodes; those without one are left out. */
export async function aliasesOf(
  client: Pool | PoolClient,
  ids: readonly NodeId[],
): Promise<ReadonlyMap<NodeId, readonly AliasRecord[]>> {
  const rows = await rowsOf<AliasRecord & { node_id: NodeId }>(
    client,
    'loading aliases',
    sql`select node_id, id, name from alias where node_id = any(${ids}::uuid[]) order by name`,
  );
  return Map.groupBy(rows, ({ node_id: node }) => node);
}

/** A node's state from its rows. `open`: as many as it holds, with nothing behind them. */
export function nodeState(
  row: NodeRow,
  aliases: readonly AliasRecord[],
  open: readonly OpenExecution[],
  vpn: VpnPlace | null,
  updates: readonly UpdateRow[] | null = null,
): NodeState {
  return {
    record: nodeRecord(row),
    aliases: aliases.map(({ id, name }) => ({ id, name })),
    vpn,
    session: null,
    open: new Map(open.map((execution) => [execution.id, execution])),
    backlog: false,
    ...NOTHING_READ,
    newestRead: youngest(
      null,
      open.map(({ id }) => id),
    ),
    sshAllowance: FULL_ALLOWANCE,
    lookUps: FULL_LOOK_UPS,
    vpnAllowances: FULL_VPN_ALLOWANCES,
    factsAllowance: FULL_FACTS_ALLOWANCE,
    updates: nodeUpdates(updates),
  };
}
