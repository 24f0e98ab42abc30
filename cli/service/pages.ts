/** Lists as a whole, page by page. */

/** Rows asked for at a time. Source: docs/api.md, Lists. */
const PAGE_ROWS = 100;

/** What is asked of a list. */
export interface PageQuery {
  readonly page: number;
  readonly page_size: number;
  readonly sort?: string;
}

/** A page, as the service answers it. */
export interface Listed<Row> {
  readonly data: readonly Row[];
  readonly pagination: { readonly total_count: number; readonly has_next: boolean };
}

/** Reads one page of a list. */
export type ReadPage<Row> = (page: PageQuery) => Promise<Listed<Row>>;

/**
 * The first `limit` rows of a list, each once, and how many there are in all. What is created while pages are read
 * moves the others back, so that the last of a page comes again on the next.
 */
export async function firstRows<Row>(
  limit: number,
  read: ReadPage<Row>,
  sort?: string,
): Promise<{ readonly rows: readonly Row[]; readonly totalCount: number }> {
  const rows = new Map<unknown, Row>();
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await read({
      page,
      page_size: Math.min(PAGE_ROWS, limit),
      ...(sort !== undefined && { sort }),
    });
    for (const row of data) if (!rows.has(keyOf(row))) rows.set(keyOf(row), row);
    if (!pagination.has_next || rows.size >= limit)
      return { rows: [...rows.values()].slice(0, limit), totalCount: pagination.total_count };
  }
}

/** Clusters are known by their names, and what has neither is of a list that does not change. */
function keyOf(row: unknown): unknown {
  const { id, name } = row as { readonly id?: unknown; readonly name?: unknown };
  return id ?? name ?? row;
}
