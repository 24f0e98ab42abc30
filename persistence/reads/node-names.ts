/**
 * Nodes by what people call them: the look-up of every connection through the proxies, so those that wait together are
 * one query.
 */
import type { Pool } from 'pg';
import type { NodeName } from '../../actors/node-names.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { batched } from './batch.ts';
import { rowsOf, sql } from './sql.ts';

/** The node that the first of some names belongs to; null when none exists. */
export function nodeNameLookUp(pool: Pool): (names: readonly NodeName[]) => Promise<NodeId | null> {
  return batched((asked: readonly (readonly NodeName[])[]) => nodesOf(pool, asked));
}

async function nodesOf(pool: Pool, asked: readonly (readonly NodeName[])[]): Promise<readonly (NodeId | null)[]> {
  const names = asked.flatMap((meanings, question) => meanings.map((name) => ({ question, name })));
  const rows = await rowsOf<{ question: number; node: NodeId }>(
    pool,
    'finding nodes by name',
    sql`
    select distinct on (asked.question) asked.question, coalesce(n.id, a.node_id) as node
    from unnest(${names.map(({ question }) => question)}::int[], ${names.map(({ name }) => name.cluster)}::text[],
      ${names.map(({ name }) => (name.kind === 'node' ? name.node : null))}::uuid[], ${names.map(({ name }) => (name.kind === 'alias' ? name.alias : null))}::text[]) with ordinality as asked (question, cluster, node, alias, place)
    join cluster c on c.name = asked.cluster
    left join node n on n.id = asked.node and n.cluster_id = c.id
    left join alias a on a.cluster_id = c.id and a.name = asked.alias
    where n.id is not null or a.id is not null
    order by asked.question, asked.place`,
  );
  const found = new Map(rows.map(({ question, node }) => [question, node]));
  return asked.map((_meanings, question) => found.get(question) ?? null);
}
