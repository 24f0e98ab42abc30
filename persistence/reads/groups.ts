/** The list of groups, and what one of them means. */
import type { Pool } from 'pg';
import { LISTS } from '../../actors/filters.ts';
import { GroupResource } from '../../actors/resources/group.ts';
import { isPlain, type PlainTargeting, type Targeting } from '../../actors/targeting-schema.ts';
import { pageTargetings } from './page-targetings.ts';
import type { Source } from './source.ts';
import { withIsoTimes, type RowOf } from './row.ts';
import { rowsOf, sql } from './sql.ts';

export const GROUPS: Source<GroupResource> = {
  spec: LISTS.groups,
  counted: null,
  table: sql`node_group g`,
  id: sql`g.id`,
  joinCluster: sql``,
  fields: {
    name: { column: sql`g.name` },
    inserted_at: { column: sql`g.inserted_at`, creation: true },
    updated_at: { column: sql`g.updated_at` },
  },
  creation: [sql`g.inserted_at`, sql`g.id`],
  resources: async ({ pool }, ids, single) => {
    const rows = await rowsOf<RowOf<typeof GroupResource>>(
      pool,
      'reading groups',
      sql`
      select g.id, g.name, g.description, page.targeting, g.inserted_at, g.updated_at
      from ${pageTargetings(sql`node_group`, ids, single)} page join node_group g on g.id = page.id order by page.place`,
    );
    return rows.map(withIsoTimes);
  },
};

/** The group of this name; null when there is none. */
export async function groupNamed(
  pool: Pool,
  name: string,
): Promise<{ readonly id: string; readonly targeting: PlainTargeting } | null> {
  if (name.includes('\0')) return null; // PostgreSQL cannot even be asked
  const [row] = await rowsOf<{ id: string; targeting: Targeting }>(
    pool,
    'finding a group',
    sql`select id, targeting from node_group where name = ${name}`,
  );
  if (row === undefined) return null;
  const { id, targeting } = row;
  if (!isPlain(targeting)) throw new Error(`The group ${name} is one of another group.`);
  return { id, targeting };
}
