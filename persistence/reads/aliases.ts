/** The list of aliases. */
import { LISTS } from '../../actors/filters.ts';
import type { AliasResource } from '../../actors/resources/node.ts';
import { aliasHostname, type Reading, type Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

export const ALIASES: Source<AliasResource> = {
  spec: LISTS.aliases,
  counted: null,
  table: sql`alias a`,
  id: sql`a.id`,
  joinCluster: sql`join cluster c on c.id = a.cluster_id`,
  fields: {
    name: { column: sql`a.name` },
    node_id: { column: sql`a.node_id` },
    cluster_name: { column: sql`c.name`, cluster: true },
    inserted_at: { column: sql`a.inserted_at`, creation: true },
    updated_at: { column: sql`a.updated_at` },
  },
  creation: [sql`a.inserted_at`, sql`a.id`],
  resources,
};

async function resources({ pool, domain }: Reading, ids: readonly string[]): Promise<AliasResource[]> {
  const rows = await rowsOf<RowOf<typeof AliasResource, 'vpn_hostname'>>(
    pool,
    'reading aliases',
    sql`
    select a.id, a.name, a.node_id, c.name as cluster_name, a.inserted_at, a.updated_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join alias a on a.id = page.id join cluster c on c.id = a.cluster_id order by page.place`,
  );
  return rows.map((row) => ({
    ...withIsoTimes(row),
    vpn_hostname: aliasHostname(row.name, row.cluster_name, domain),
  }));
}
