/** Which nodes a targeting reaches. */
import type { Pool } from 'pg';
import { TARGET_FILTERS, type FilterField } from '../../actors/filters.ts';
import type { PlainTargeting, Target, Targeting } from '../../actors/targeting-schema.ts';
import type { ClusterId, NodeId } from '../../transport/protocol/ids.ts';
import { batched } from './batch.ts';
import { CLUSTERS } from './clusters.ts';
import { all, condition, filtersOf } from './conditions.ts';
import { NODES } from './nodes.ts';
import { isUuid, type Field } from './source.ts';
import { rowsOf, sql, type Sql } from './sql.ts';

interface TargetRow {
  readonly node: NodeId;
  readonly cluster: ClusterId;
  readonly clusterName: string;
}

/**
 * Evaluates targetings, each in one statement and so in one snapshot (C2). `group` is what the group of the targeting
 * means, null where it names none; `by` narrows what is reached. Those that only name nodes share statements.
 */
export function targeter(
  pool: Pool,
): (targeting: Targeting, group?: PlainTargeting | null, by?: PlainTargeting | null) => Promise<readonly Target[]> {
  const named = batched((lists: readonly (readonly string[])[]) => namedNodes(pool, lists));
  return (targeting, group = null, by = null) =>
    targeting.type === 'nodes' && !hasFilters(targeting) && by === null
      ? named(ids(targeting))
      : filtered(pool, targeting, group, by);
}

/**
 * The node ids of a targeting, in their normal form. What is no id names no node, and must not fail a statement that
 * others share.
 */
function ids({ node_ids }: Pick<Targeting, 'node_ids'>): readonly string[] {
  return (node_ids ?? []).map((id) => id.toLowerCase()).filter(isUuid);
}

function hasFilters({ labels, cluster_filters, node_filters }: Targeting): boolean {
  if (labels !== undefined) return true;
  return Object.keys(cluster_filters ?? {}).length + Object.keys(node_filters ?? {}).length > 0;
}

async function namedNodes(pool: Pool, lists: readonly (readonly string[])[]): Promise<readonly (readonly Target[])[]> {
  const wanted = [...new Set(lists.flat())];
  if (wanted.length === 0) return lists.map(() => []);
  const rows = await rowsOf<TargetRow>(
    pool,
    'finding the targets',
    sql`
    select n.id as node, n.cluster_id as cluster, c.name as "clusterName" from node n join cluster c on c.id = n.cluster_id where n.id = any(${wanted}::uuid[])`,
  );
  const byNode = new Map<string, Target>(rows.map((row) => [row.node, row]));
  return lists.map((list) => [...new Set(list)].flatMap((node) => byNode.get(node) ?? []));
}

async function filtered(
  pool: Pool,
  targeting: Targeting,
  group: PlainTargeting | null,
  by: PlainTargeting | null,
): Promise<readonly Target[]> {
  if (targeting.type === 'group' && group === null) throw new Error('A targeting came without its group.');
  const where = all([targeting, group, by].flatMap((one) => (one === null ? [] : reached(one))));
  return rowsOf<TargetRow>(
    pool,
    'finding the targets',
    sql`
    select n.id as node, n.cluster_id as cluster, c.name as "clusterName" from node n join cluster c on c.id = n.cluster_id where ${where}`,
  );
}

function reached(targeting: Targeting): readonly Sql[] {
  const { labels } = targeting;
  return [
    ...chosen(targeting),
    ...(labels === undefined
      ? []
      : [condition('selector', NODES.fields['labels'] ?? {}, { ...SELECTED, value: labels })]),
    ...conditions(TARGET_FILTERS.cluster_filters, CLUSTERS.fields, targeting.cluster_filters),
    ...conditions(TARGET_FILTERS.node_filters, NODES.fields, targeting.node_filters),
  ];
}

const SELECTED = { field: 'labels', op: 'eq' } as const;

function chosen({ type, node_ids, cluster_names }: Targeting): readonly Sql[] {
  switch (type) {
    case 'all':
    case 'group':
      return [];
    case 'nodes':
      return [sql`n.id = any(${ids({ node_ids })}::uuid[])`];
    case 'clusters':
      return [sql`c.name = any(${cluster_names ?? []}::text[])`];
    default:
      return type satisfies never;
  }
}

function conditions(
  spec: Readonly<Record<string, FilterField>>,
  fields: Readonly<Record<string, Field>>,
  given: Targeting['node_filters'],
): readonly Sql[] {
  return filtersOf(spec, given).map((filter) => {
    const kind = spec[filter.field]?.kind;
    const field = fields[filter.field];
    if (kind === undefined || field === undefined) throw new Error(`The targeting filter ${filter.field} has no SQL.`);
    return condition(kind, field, filter);
  });
}
