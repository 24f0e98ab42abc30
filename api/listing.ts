/** The answer of a list: rows of one page, and where it stands. */
import type { ListQuery } from '../actors/filters.ts';

/** Where a page stands in its list. Source: docs/api.md. */
export interface Pagination {
  readonly page: number;
  readonly page_size: number;
  readonly total_count: number;
  readonly total_pages: number;
  readonly has_next: boolean;
  readonly has_prev: boolean;
  readonly next_page: number | null;
  readonly prev_page: number | null;
}

/** The answer of a list. */
export interface Listing<Row> {
  readonly data: readonly Row[];
  readonly pagination: Pagination;
}

/** Rows of one page, and how many there are in all. */
export type PageOf = { readonly rows: readonly unknown[]; readonly totalCount: number };

/** One page as clients get it. */
export function listing({ rows, totalCount }: PageOf, { page, pageSize }: ListQuery): Listing<unknown> {
  const totalPages = Math.ceil(totalCount / pageSize);
  return {
    data: rows,
    pagination: {
      page,
      page_size: pageSize,
      total_count: totalCount,
      total_pages: totalPages,
      has_next: page < totalPages,
      has_prev: page > 1,
      next_page: page < totalPages ? page + 1 : null,
      prev_page: page > 1 ? page - 1 : null,
    },
  };
}
