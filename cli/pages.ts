/** Lists as a whole, page by page. */

/** Rows asked for at a time. Source: docs/api.md, Lists. */
const PAGE_ROWS = 100;

interface Listed<Row> {
  readonly data: readonly Row[];
  readonly pagination: { readonly total_count: number; readonly has_next: boolean };
}

/** The first `limit` rows of a list, and how many there are in all. */
export async function firstRows<Row>(
  limit: number,
  read: (page: { readonly page: number; readonly page_size: number }) => Promise<Listed<Row>>,
): Promise<{ readonly rows: readonly Row[]; readonly totalCount: number }> {
  const rows: Row[] = [];
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await read({ page, page_size: Math.min(PAGE_ROWS, limit) });
    rows.push(...data);
    if (!pagination.has_next || rows.length >= limit)
      return { rows: rows.slice(0, limit), totalCount: pagination.total_count };
  }
}
