/** The list of aliases. */
import { LISTS } from '../../actors/filters.ts';
import type { AliasResource } from '../../actors/resources/node.ts';
import { aliasHostname, iso, type Reading, type Source } from './source.ts';
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

interface AliasRow {
  readonly id: string;
  readonly name: string;
  readonly node_id: string;
  readonly cluster_name: string;
  readonly inserted_at: Date;
  readonly updated_at: Date;
}

async function resources({ pool, domain }: Reading, ids: readonly string[]): Promise<AliasResource[]> {
  const rows = await rowsOf<AliasRow>(
    pool,
    'reading aliases',
    sql`
    select a.id, a.name, a.node_id, c.name as cluster_name, a.inserted_at, a.updated_at
    from unnest(${ids}::uuid[]) with ordinality as page (id, place) join alias a on a.id = page.id join cluster c on c.id = a.cluster_id order by page.place`,
  );
  return rows.map((row) => ({
    ...row,
    vpn_hostname: aliasHostname(row.name, row.cluster_name, domain),
    inserted_at: iso(row.inserted_at),
    updated_at: iso(row.updated_at),
  }));
}
