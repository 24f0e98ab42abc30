/**
 * Pages deep inside a list of a million rows: known ids at known places, so that a page is read from the nearest one
 * instead of from an end.
 */
import type { Pool } from 'pg';
import { rowsOf, sql, type Sql } from './sql.ts';

/** Rows between two page anchors. A page scans at most this many ids of the index, some 0.5 ms. */
const STEP = 5_000;

/**
 * The newest rows get no page anchor: transactions that are under way may still add to them. A second of the fastest
 * fleet.
 */
const UNMARKED_ROWS = 2 * STEP;

/** A place to read on from, in order of id. */
export interface AnchoredStart {
  /** The rows wanted come after this id; null: from the first row. */
  readonly after: string | null;
  /** Rows between it and the one wanted. */
  readonly skip: number;
}

export interface PageAnchors {
  /**
   * Where the row at this position is, counted from the lowest id; `null` when that is not known yet: a walk over the
   * index has begun, and the next one will find it. Never wrong: page anchors are held against the kept counts at each
   * use, and given up when those disagree.
   */
  locate(
    position: (totalCount: number) => number,
  ): Promise<{ readonly place: AnchoredStart; readonly totalCount: number } | null>;
}

/** Page anchors of a list with counted rows, whose ids are in order of creation. */
export function createPageAnchors(
  pool: Pool,
  { table, id, counted: name }: { readonly table: Sql; readonly id: Sql; readonly counted: string | null },
): PageAnchors {
  if (name === null) throw new Error('Page anchors are held against kept counts: this list has none.');
  let anchors: string[] = [];
  let deletedThen: string | null = null;
  let walking: Promise<void> | null = null;

  const walk = async (): Promise<void> => {
    const { totalCount, deleted } = await counts(pool, name);
    if (deleted !== deletedThen) anchors = [];
    deletedThen = deleted;
    while ((anchors.length + 1) * STEP <= totalCount - UNMARKED_ROWS) {
      const [row] = await rowsOf<{ id: string }>(
        pool,
        'walking a long list',
        sql`select ${id} as id from ${table} where ${after(id, anchors.at(-1))} order by ${id} offset ${STEP - 1}::bigint limit 1`,
      );
      if (row === undefined) return;
      anchors.push(row.id);
    }
  };
  const beginWalk = (): void => {
    walking ??= walk()
      .catch(() => undefined)
      .finally(() => {
        walking = null;
      }); // until one ends well, pages are read from the ends
  };

  return {
    locate: async (position) => {
      const known = [...anchors];
      const { totalCount, deleted, newer } = await counts(
        pool,
        name,
        sql`(select count(*) from ${table} where ${after(id, known.at(-1))})`,
      );
      // All rows are either up to the last page anchor, as many as when it was set, or behind it; and none was deleted
      // since.
      const holds =
        walking === null && known.length > 0 && deleted === deletedThen && known.length * STEP + newer === totalCount;
      if (!holds || newer > STEP + 2 * UNMARKED_ROWS) {
        if (!holds && walking === null) anchors = [];
        beginWalk();
      }
      if (!holds) return null;
      const wanted = position(totalCount);
      const passed = Math.min(Math.floor(wanted / STEP), known.length);
      return { place: { after: known[passed - 1] ?? null, skip: wanted - passed * STEP }, totalCount };
    },
  };
}

function after(id: Sql, mark: string | undefined): Sql {
  return mark === undefined ? sql`true` : sql`${id} > ${mark}::uuid`;
}

interface Counts {
  readonly totalCount: number;
  /** How many rows have ever been deleted. */
  readonly deleted: string;
  readonly newer: number;
}

/** The kept counts, and one more, in one snapshot. */
async function counts(pool: Pool, name: string, newer: Sql = sql`0`): Promise<Counts> {
  const [row] = await rowsOf<Counts>(
    pool,
    'counting',
    sql`
    select coalesce(sum(n) filter (where table_name = ${name}), 0)::float8 as "totalCount", coalesce(sum(n) filter (where table_name <> ${name}), 0)::text as deleted, ${newer}::float8 as newer
    from row_count where table_name in (${name}, ${deletedName(name)})`,
  );
  if (row === undefined) throw new Error('A sum gave no row.');
  return row;
}

/** Under which name the trigger counts the deletions of a table. Source: the migration, count_rows. */
function deletedName(table: string): string {
  return `${table}:deleted`;
}
