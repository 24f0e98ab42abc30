/**
 * A long table of which only what is seen is drawn: rows are equally high, and the keyboard goes through all of them.
 * One stop of Tab; the active row is told by `aria-activedescendant`, so that it may scroll out of what is drawn.
 */
import type { Signal } from '@preact/signals';
import { Component, type ComponentChildren, type RefObject } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { rowAfter, scrollTo, sliceOf } from '../fleet/window.ts';
import type { Selection } from '../selection.ts';
import { ChooseAll, ChooseOne, useChoosing, type Choosing } from './grid-selection.tsx';

/** Height of a row and of the head, in CSS pixels: `--row` in the style is the same. */
const ROW_PX = 40;

/** Width of the column of checkboxes, in CSS pixels. */
const CHOICE_PX = 40;

/** Width of a column that says none, in CSS pixels. */
const COLUMN_PX = 96;

/** A column. `sort`: its head is a button that sorts by it. */
export interface Column<Row> {
  readonly name: string;
  readonly title: string;
  /** `drawn`: the columns for which there is room. */
  readonly cell: (row: Row, drawn: readonly Column<Row>[]) => ComponentChildren;
  readonly sort?: { readonly direction: 'ascending' | 'descending' | 'none'; readonly by: () => void };
  /** Least width, in CSS pixels. */
  readonly minPx?: number;
  /** Its share of what the least widths leave; 0: none. */
  readonly grow?: number;
  /** Width of the table, in CSS pixels, below which it is left out. */
  readonly fromPx?: number;
}

/** What is shown. */
export interface GridProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  /** The chosen ids, which the page owns; without it nothing can be chosen. Those of rows that left the list stay. */
  readonly chosen?: Signal<Selection>;
  /** What a row is called, for whoever hears the checkboxes. */
  readonly nameOf?: (row: Row) => string;
  /** What `Enter` and a double click do. */
  readonly onOpen?: (row: Row) => void;
  /** Told of the row that the keyboard or a click leads to. */
  readonly onActive?: (row: Row) => void;
}

/** The table. It takes what its container leaves it. */
export function Grid<Row>(props: GridProps<Row>) {
  const { label, rows, idOf, nameOf = idOf, chosen, onOpen, onActive } = props;
  const box = useRef<HTMLDivElement>(null);
  const seen = useWindow(box);
  const columns = useColumns(props.columns, seen.width);
  const [activeId, setActive] = useState<string | null>(null);
  const active = useActiveRow(rows, idOf, activeId);
  const choosing = useChoosing({ chosen, rows, idOf, active: active.found });
  const { from, to } = sliceOf(rows.length, ROW_PX, seen.scrollTop, seen.height - ROW_PX);

  const onKeyDown = onKeys({ ...props, box, seen, active, choosing, setActive });

  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + (choosing === null ? 0 : 1)}
      aria-multiselectable={choosing === null ? undefined : true}
      aria-activedescendant={active.found >= from && active.found < to ? rowId(activeId ?? '') : undefined}
      tabIndex={0}
      style={trackStyle(columns, choosing !== null)}
      onKeyDown={onKeyDown}
    >
      <div class="head" role="rowgroup">
        <Head columns={columns} choosing={choosing} />
      </div>
      <div class="body" role="rowgroup" style={{ height: `${rows.length * ROW_PX}px` }}>
        {rows.slice(from, to).map((row, index) => (
          <Line
            key={idOf(row)}
            row={row}
            id={idOf(row)}
            name={nameOf(row)}
            place={from + index}
            isActive={idOf(row) === activeId}
            isChosen={choosing?.chosen.has(idOf(row)) ?? null}
            columns={columns}
            onActive={(id) => {
              setActive(id);
              onActive?.(row);
            }}
            choosing={choosing}
            onOpen={onOpen}
          />
        ))}
      </div>
    </div>
  );
}

interface Keys<Row> extends Pick<GridProps<Row>, 'rows' | 'idOf' | 'onOpen' | 'onActive'> {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly seen: Seen;
  readonly active: ActiveRow;
  readonly choosing: Choosing | null;
  readonly setActive: (id: string) => void;
}

/** What keys do while the table itself has the focus, and nothing in it. */
function onKeys<Row>({ rows, idOf, onOpen, onActive, box, seen, active, choosing, setActive }: Keys<Row>) {
  return (event: KeyboardEvent): void => {
    if (event.target !== box.current || event.altKey) return;
    if (choosing?.onKey(event) === true) return event.preventDefault();
    if (event.ctrlKey || event.metaKey) return;
    const activeRow = rows[active.found];
    if (event.key === 'Enter' && activeRow !== undefined && onOpen !== undefined) {
      event.preventDefault();
      return onOpen(activeRow);
    }
    const page = Math.max(1, Math.floor(seen.height / ROW_PX) - 2);
    const next = rowAfter(event.key, active.present, rows.length, page);
    const row = next === null ? undefined : rows[next];
    if (next === null || row === undefined) return;
    event.preventDefault();
    setActive(idOf(row));
    onActive?.(row);
    const top = scrollTo(next, ROW_PX, { ...seen, above: ROW_PX });
    if (top !== null) box.current?.scrollTo({ top });
  };
}

/** What of the table is seen, in CSS pixels. */
interface Seen {
  readonly scrollTop: number;
  readonly height: number;
  readonly width: number;
}

function useWindow(box: RefObject<HTMLDivElement | null>): Seen {
  const [seen, setSeen] = useState<Seen>({ scrollTop: 0, height: 0, width: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void =>
      setSeen({ scrollTop: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  return seen;
}

/** Those for which there is room. The same list as long as it is the same ones. */
function useColumns<Row>(columns: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  const fits = columns.map(({ fromPx = 0 }) => width === 0 || width >= fromPx);
  return useMemo(() => columns.filter((_, index) => fits[index]), [columns, fits.join()]);
}

/** Widths of the columns, of head and rows alike: beyond the window they are scrolled to. */
function trackStyle<Row>(columns: readonly Column<Row>[], hasChoice: boolean): Record<string, string> {
  const tracks = columns.map(({ minPx = COLUMN_PX, grow = 1 }) =>
    grow === 0 ? `${minPx}px` : `minmax(${minPx}px, ${grow}fr)`,
  );
  const least = columns.reduce((sum, { minPx = COLUMN_PX }) => sum + minPx, hasChoice ? CHOICE_PX : 0);
  return {
    '--tracks': [...(hasChoice ? [`${CHOICE_PX}px`] : []), ...tracks].join(' '),
    '--least': `${least}px`,
  };
}

/** Places in the list. `found` is below zero where it is not there; `present` is where a key goes on from. */
interface ActiveRow {
  readonly found: number;
  readonly present: number;
}

/** Where the active row is; one that went away leaves its place to the row that is there now. */
function useActiveRow<Row>(rows: readonly Row[], idOf: (row: Row) => string, activeId: string | null): ActiveRow {
  const found = useMemo(
    () => (activeId === null ? -1 : rows.findIndex((row) => idOf(row) === activeId)),
    [rows, activeId],
  );
  const place = useRef(-1);
  if (found >= 0) place.current = found;
  return { found, present: found >= 0 ? found : Math.min(place.current, rows.length) };
}

interface LineProps<Row> extends Pick<GridProps<Row>, 'columns' | 'onOpen'> {
  readonly row: Row;
  readonly id: string;
  readonly name: string;
  readonly place: number;
  readonly isActive: boolean;
  /** Null: nothing can be chosen here. */
  readonly isChosen: boolean | null;
  readonly choosing: Choosing | null;
  readonly onActive: (id: string) => void;
}

/** What of its properties a row shows. */
const SHOWN = [
  'row',
  'id',
  'name',
  'place',
  'isActive',
  'isChosen',
  'columns',
] as const satisfies readonly (keyof LineProps<unknown>)[];

/**
 * A row. One that did not change is not drawn again: of 200 changes a second most are of rows that nobody sees. It says
 * so itself, as elements that are kept (`useMemo`) would hold the whole page as it was when they were made.
 */
class Line<Row> extends Component<LineProps<Row>> {
  override shouldComponentUpdate(next: LineProps<Row>): boolean {
    return SHOWN.some((property) => next[property] !== this.props[property]);
  }

  override render({ row, id, name, place, isActive, isChosen, columns }: LineProps<Row>) {
    return (
      <div
        id={rowId(id)}
        class={isActive ? 'row active' : 'row'}
        role="row"
        aria-rowindex={place + 2}
        aria-selected={isChosen ?? undefined}
        style={{ transform: `translateY(${place * ROW_PX}px)` }}
        onPointerDown={() => this.props.onActive(id)}
        onDblClick={() => this.props.onOpen?.(row)}
      >
        {isChosen !== null && (
          <ChooseOne
            name={name}
            isChosen={isChosen}
            onClick={(isRange) => this.props.choosing?.choose(place, isRange) === true}
          />
        )}
        {columns.map(({ name: column, cell }) => (
          <div key={column} class={`cell ${column}`} role="gridcell">
            {cell(row, columns)}
          </div>
        ))}
      </div>
    );
  }
}

function Head<Row>({ columns, choosing }: Pick<GridProps<Row>, 'columns'> & { readonly choosing: Choosing | null }) {
  return (
    <div class="row" role="row" aria-rowindex={1}>
      {choosing !== null && <ChooseAll choosing={choosing} />}
      {columns.map(({ name, title, sort }) => (
        <div key={name} class={`cell ${name}`} role="columnheader" aria-sort={sort?.direction}>
          {sort === undefined ? (
            title
          ) : (
            <button type="button" class={sort.direction} onClick={sort.by}>
              {title}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}

function rowId(id: string): string {
  return `row-${id}`;
}
