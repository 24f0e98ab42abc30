/** Reads what is stored when all is over. */
import { CLUSTER, type Fleet } from '../../support/fleet.ts';
import { ROWS, type Row } from '../invariants.ts';
import type { Rows } from './rows.ts';

/** Kinds whose rows have a name, as `Rows.named` shows them. */
const NAMED = `
  select 'cluster' as resource, '' as scope, name, id, node_limit::text as value, null::uuid as node from cluster
  union all select 'group', '', name, id, description, null from node_group
  union all select 'alias', c.name, a.name, a.id, null, a.node_id from alias a join cluster c on c.id = a.cluster_id
  union all select 'ssh_username', u.node_id::text, u.username, u.id, null, u.node_id from ssh_username u
  union all select 'enrollment_key', c.name, k.name, k.id, k.uses_remaining::text, null from enrollment_key k join cluster c on c.id = k.cluster_id
  union all select 'webhook', '', substring(url from '[^/]+$'), id, null, null from webhook
  union all select 'command', '', substring(command_text from '^echo (\\S+) '), id, null, null from command`;

/** All of it, but for the cluster with which every fleet begins. */
export async function storedRows(fleet: Fleet): Promise<Rows> {
  const named = await fleet.sql<Rows['named'][number] & { resource: string }>(NAMED);
  const clusters = await fleet.sql<{ name: string; count: number; limit: number | null }>(
    'select name, node_count as count, node_limit as limit from cluster',
  );
  const events = await fleet.sql<{ id: string; subject: string; type: string }>(
    'select id, subject, type from event order by txid, seq',
  );
  return {
    named: named.filter(({ resource, name }) => !(resource === 'cluster' && name === CLUSTER)),
    clusters: clusters.map(({ name, count, limit }) => ({ name, nodeCount: count, nodeLimit: limit })),
    nodes: await storedNodes(fleet),
    executions: await fleet.sql<Row>(ROWS),
    events,
  };
}

/** Every node. */
export async function storedNodes(fleet: Fleet): Promise<Rows['nodes']> {
  const nodes = await fleet.sql<{ id: string; cluster: string; labels: Record<string, string> | null }>(
    'select n.id, c.name as cluster, l.labels from node n join cluster c on c.id = n.cluster_id left join node_labels l on l.node_id = n.id',
  );
  return new Map(nodes.map(({ id, cluster, labels }) => [id, { cluster, labels: labels ?? {} }]));
}
