/** What somebody wants to see of a list, and how that stands in the address of its page. Pure. */

/** Rows of a page. */
export const PAGE_ROWS = 50;

/** Longest value of a filter that is taken from an address, in characters: what the API takes. */
export const VALUE_CHARACTERS_MAX = 1_024;

/** Highest page that is asked for. */
const PAGE_MAX = 1_000_000;

/** Filters, order and page. */
export interface ListState<F extends string = string> {
  /** By their parameters; none is empty. */
  readonly filters: { readonly [Name in F]?: string };
  /** A field, `-` before it for descending; empty: newest first. */
  readonly sort: string;
  readonly page: number;
}

/** What a list is asked with. */
export type ListParameters<F extends string> = ListState<F>['filters'] & {
  readonly page: number;
  readonly page_size: number;
  readonly sort?: string;
};

/** Where a page of a list stands. Source: docs/api.md, Lists. */
export interface Pagination {
  readonly page: number;
  readonly page_size: number;
  readonly total_count: number;
  readonly total_pages: number;
}

/** That of an address. What is no filter of this list is left out: old links still lead somewhere. */
export function listStateOf<F extends string>(search: string, filters: readonly F[]): ListState<F> {
  const given = new URLSearchParams(search);
  const page = Number(given.get('page') ?? '1');
  const named = filters.flatMap((name) => {
    const value = given.get(name)?.slice(0, VALUE_CHARACTERS_MAX) ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  return {
    filters: Object.fromEntries(named) as ListState<F>['filters'],
    sort: /^-?[a-z_]{1,64}$/u.exec(given.get('sort') ?? '')?.[0] ?? '',
    page: Number.isSafeInteger(page) && page >= 1 && page <= PAGE_MAX ? page : 1,
  };
}

/** The end of its address: empty for the first page of everything. */
export function listSearchOf({ filters, sort, page }: ListState): string {
  const pairs: [name: string, value: string][] = Object.entries(filters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  if (sort !== '') pairs.push(['sort', sort]);
  if (page > 1) pairs.push(['page', String(page)]);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

/** What the API is asked. */
export function listParametersOf<F extends string>(
  { filters, sort, page }: ListState<F>,
  pageSize = PAGE_ROWS,
): ListParameters<F> {
  return { ...filters, page, page_size: pageSize, ...(sort !== '' && { sort }) };
}

/** The same list with this filter, from its first page; empty: without it. */
export function filteredBy<F extends string>(state: ListState<F>, name: F, value: string): ListState<F> {
  const { [name]: _before, ...others } = state.filters;
  const filters = (value === '' ? others : { ...others, [name]: value }) as ListState<F>['filters'];
  return { ...state, filters, page: 1 };
}

/** The same list sorted by a field: once more turns the order round. */
export function listSortedBy<F extends string>(state: ListState<F>, field: string): ListState<F> {
  return { ...state, sort: state.sort === field ? `-${field}` : field, page: 1 };
}

/** How it is sorted by a field. */
export function directionOf({ sort }: ListState, field: string): 'ascending' | 'descending' | 'none' {
  return sort === field ? 'ascending' : sort === `-${field}` ? 'descending' : 'none';
}

/** Words of a person for a text filter of the API: found anywhere, unless there is a wildcard already. */
export function anywhere(words: string): string {
  return words.includes('*') ? words : `*${words}*`;
}
