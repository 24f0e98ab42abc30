/**
 * A list of an operation that has pages: filters above it, its states, the page in the address. It is asked again while
 * it is seen, and rows that stay keep their place.
 */
import { Fragment, type ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { directionOf, listSearchOf, listSortedBy, type ListState, type Pagination } from '../lists/query.ts';
import { usePolled, type Polled } from '../poll.ts';
import { go } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { Asked } from './asked.tsx';
import { toRow } from './row-keys.ts';
import { State } from './state.tsx';

const T = TEXTS.lists;

/** An answer of a list. */
export interface PageOf<Row> {
  readonly data: readonly Row[];
  readonly pagination: Pagination;
}

/** A column. The first one heads its row, and leads to what `detail` says. */
export interface ListColumn<Row> {
  readonly name: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Field by which the API sorts: its head is a button then. */
  readonly sort?: string;
  /** Right-aligned. */
  readonly isNumber?: boolean;
}

/** What is shown. */
export interface PagedListProps<Row> {
  readonly label: string;
  /** Of the address; its page and order are asked for. */
  readonly state: ListState;
  /** The page that this is, for its links: with the end of an address. */
  readonly address: (search: string) => string;
  readonly ask: () => Promise<PageOf<Row>>;
  readonly idOf: (row: Row) => string;
  readonly columns: readonly ListColumn<Row>[];
  /** Where a row leads. */
  readonly detail?: (row: Row) => string;
  /** What rows beside each other have in common, said once above them; null: nothing is said. */
  readonly groupOf?: (row: Row) => string | null;
  /** Said where there is nothing at all, with the next step. */
  readonly empty: string;
  readonly emptyNext?: ComponentChildren;
  /** Changes whenever it is to be asked at once, beside the filters: after something was created or deleted. */
  readonly round?: number;
}

/** The list. */
export function PagedList<Row>(props: PagedListProps<Row>) {
  const { state, ask, round = 0 } = props;
  const polled = usePolled(ask, `${listSearchOf(state)} ${round}`);
  const { data, failure, isOld } = polled.value;
  return (
    <div class="paged" aria-busy={isOld}>
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && <Answer {...props} polled={polled.value} answer={data} />}
    </div>
  );
}

interface AnswerProps<Row> extends PagedListProps<Row> {
  readonly polled: Polled<PageOf<Row>>;
  readonly answer: PageOf<Row>;
}

function Answer<Row>(props: AnswerProps<Row>) {
  const { answer, state, address, empty, emptyNext, polled } = props;
  if (answer.data.length > 0)
    return (
      <>
        <Table {...props} />
        <Pages {...props} />
      </>
    );
  if (polled.isOld) return null;
  if (state.page > 1)
    return (
      <State text={T.pageGone}>
        <a href={address(listSearchOf({ ...state, page: 1 }))}>{T.firstPage}</a>
      </State>
    );
  if (Object.keys(state.filters).length > 0)
    return (
      <State text={T.none}>
        <a href={address(listSearchOf({ ...state, filters: {} }))}>{T.clear}</a>
      </State>
    );
  return <State text={empty}>{emptyNext}</State>;
}

function Table<Row>({ label, state, address, answer, idOf, columns, detail, groupOf = () => null }: AnswerProps<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const groups = answer.data.map(groupOf);
  return (
    // a region that scrolls needs the focus, so that the keyboard can scroll it
    <div ref={box} class="scroll" role="region" aria-label={label} tabIndex={0} onKeyDown={toRow}>
      <table class="rows">
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} state={state} address={address} />
            ))}
          </tr>
        </thead>
        <tbody>
          {answer.data.map((row, place) => (
            <Fragment key={idOf(row)}>
              {groups[place] != null && groups[place] !== groups[place - 1] && (
                <tr class="group">
                  <th colSpan={columns.length} scope="rowgroup">
                    {groups[place]}
                  </th>
                </tr>
              )}
              <tr>
                {columns.map(({ name, cell, isNumber = false }, index) =>
                  index === 0 ? (
                    <th key={name} scope="row">
                      {detail === undefined ? cell(row) : <a href={detail(row)}>{cell(row)}</a>}
                    </th>
                  ) : (
                    <td key={name} class={isNumber ? 'number' : name}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({
  column: { title, sort, isNumber = false },
  state,
  address,
}: Pick<PagedListProps<Row>, 'state' | 'address'> & { readonly column: ListColumn<Row> }) {
  const kind = isNumber ? 'number' : '';
  if (sort === undefined)
    return (
      <th scope="col" class={kind}>
        {title}
      </th>
    );
  const direction = directionOf(state, sort);
  return (
    <th scope="col" class={kind} aria-sort={direction}>
      <button type="button" class={direction} onClick={() => go(address(listSearchOf(listSortedBy(state, sort))))}>
        {title}
      </button>
    </th>
  );
}

/** Which rows these are, and the way to those before and after them. */
function Pages<Row>({ label, answer, state, address }: AnswerProps<Row>) {
  const { page, page_size: size, total_count: total, total_pages: pages } = answer.pagination;
  const first = (page - 1) * size + 1;
  const to = (other: number): string => address(listSearchOf({ ...state, page: other }));
  return (
    <nav class="pages" aria-label={T.pagesOf(label)}>
      <span class="soft">{T.rows(first, first + answer.data.length - 1, total)}</span>
      {page > 1 && (
        <a rel="prev" href={to(page - 1)}>
          {T.previous}
        </a>
      )}
      {page < pages && (
        <a rel="next" href={to(page + 1)}>
          {T.next}
        </a>
      )}
    </nav>
  );
}
