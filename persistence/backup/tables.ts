/** What of a database is in a backup: tables with their columns, sequences, and which migrations made them. */
import type { Client } from 'pg';
import { MIGRATION_TABLE } from '../schema-version.ts';

/** A table as it lies in its rows: names and types of its columns, in their order. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Where a sequence stands. */
export interface SequencePlace {
  readonly table: string;
  readonly column: string;
  readonly value: string;
  readonly isCalled: boolean;
}

/** Migrations that the database has, oldest first; none when it was never used. */
export async function migrationsOf(client: Client): Promise<readonly string[]> {
  const {
    rows: [table],
  } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [MIGRATION_TABLE]);
  if (table?.there !== true) return [];
  const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATION_TABLE} order by id`);
  return rows.map(({ name }) => name);
}

/** All tables of the schema but MikroORM's own, those first that others refer to. Partitions are rows of theirs. */
export async function tablesOf(client: Client): Promise<readonly TableShape[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; after: string[] | null }>(
    `
    select c.relname as name,
      (select array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) order by a.attnum) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
      (select array_agg(distinct f.relname::text) from pg_constraint k join pg_class f on f.oid = k.confrelid where k.conrelid = c.oid and k.contype = 'f' and f.oid <> c.oid) as after
    from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> $1 order by c.relname`,
    [MIGRATION_TABLE],
  );
  const left = new Map(rows.map((row) => [row.name, row]));
  const sorted: TableShape[] = [];
  while (left.size > 0) {
    const next = [...left.values()].find(({ after }) => !(after ?? []).some((name) => left.has(name)));
    if (next === undefined) throw new Error(`Tables refer to each other in a circle: ${[...left.keys()].join(', ')}`);
    left.delete(next.name);
    sorted.push({ name: next.name, columns: next.columns });
  }
  return sorted;
}

/** Every sequence that belongs to a column. */
export async function sequencesOf(client: Client): Promise<readonly SequencePlace[]> {
  const { rows } = await client.query<{ sequence: string; table: string; column: string }>(
    `
    select s.oid::regclass::text as sequence, t.relname as table, a.attname as column
    from pg_class s join pg_depend d on d.objid = s.oid and d.classid = 'pg_class'::regclass and d.deptype in ('i', 'a') join pg_class t on t.oid = d.refobjid join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where s.relkind = 'S' and t.relnamespace = current_schema()::regnamespace and t.relname <> $1 order by 1`,
    [MIGRATION_TABLE],
  );
  const places: SequencePlace[] = [];
  for (const { sequence, table, column } of rows) {
    const {
      rows: [place],
    } = await client.query<{ value: string; isCalled: boolean }>(
      `select last_value::text as value, is_called as "isCalled" from ${sequence}`,
    );
    if (place !== undefined) places.push({ table, column, ...place });
  }
  return places;
}

/** A name as SQL has it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
