/**
 * A long table of which only what is seen is drawn: rows are equally high, and the keyboard goes through all of them.
 * One stop of Tab; the active row is told by `aria-activedescendant`, so that it may scroll out of what is drawn.
 */
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { rowAfter, scrollTo, sliceOf } from '../fleet/window.ts';

/** Height of a row and of the head, in CSS pixels: `--row` in the style is the same. */
const ROW_PX = 40;

/** A column. `sort`: its head is a button that sorts by it. */
export interface Column<Row> {
  readonly name: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly sort?: { readonly direction: 'ascending' | 'descending' | 'none'; readonly by: () => void };
}

/** What is shown. */
export interface GridProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
}

/** The table. It takes what its container leaves it. */
export function Grid<Row>({ label, rows, idOf, columns }: GridProps<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const { scrollTop, height } = useWindow(box);
  const [activeId, setActive] = useState<string | null>(null);
  const active = useActiveRow(rows, idOf, activeId);
  const { from, to } = sliceOf(rows.length, ROW_PX, scrollTop, height - ROW_PX);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== box.current) return;
    const next = rowAfter(event.key, active.present, rows.length, Math.max(1, Math.floor(height / ROW_PX) - 2));
    const row = next === null ? undefined : rows[next];
    if (next === null || row === undefined) return;
    event.preventDefault();
    setActive(idOf(row));
    const top = scrollTo(next, ROW_PX, { scrollTop, height, above: ROW_PX });
    if (top !== null) box.current?.scrollTo({ top });
  };

  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={active.found >= from && active.found < to ? rowId(activeId ?? '') : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div class="head" role="rowgroup">
        <Head columns={columns} />
      </div>
      <div class="body" role="rowgroup" style={{ height: `${rows.length * ROW_PX}px` }}>
        {rows.slice(from, to).map((row, index) => (
          <Line
            key={idOf(row)}
            row={row}
            id={idOf(row)}
            place={from + index}
            isActive={idOf(row) === activeId}
            columns={columns}
            onChoose={setActive}
          />
        ))}
      </div>
    </div>
  );
}

/** What of the table is seen, in CSS pixels. */
function useWindow(box: RefObject<HTMLDivElement | null>): { readonly scrollTop: number; readonly height: number } {
  const [seen, setSeen] = useState({ scrollTop: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = (): void => setSeen({ scrollTop: element.scrollTop, height: element.clientHeight });
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

/** Where the active row is; one that went away leaves its place to the row that is there now. */
function useActiveRow<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  activeId: string | null,
): { readonly found: number; readonly present: number } {
  const found = activeId === null ? -1 : rows.findIndex((row) => idOf(row) === activeId);
  const place = useRef(-1);
  useEffect(() => {
    if (found >= 0) place.current = found;
  }, [found]);
  return { found, present: found >= 0 ? found : Math.min(place.current, rows.length) };
}

interface LineProps<Row> extends Pick<GridProps<Row>, 'columns'> {
  readonly row: Row;
  readonly id: string;
  readonly place: number;
  readonly isActive: boolean;
  readonly onChoose: (id: string) => void;
}

function Line<Row>({ row, id, place, isActive, columns, onChoose }: LineProps<Row>) {
  return (
    <div
      id={rowId(id)}
      class="row"
      role="row"
      aria-rowindex={place + 2}
      aria-selected={isActive}
      style={{ transform: `translateY(${place * ROW_PX}px)` }}
      onPointerDown={() => onChoose(id)}
    >
      {columns.map(({ name, cell }) => (
        <div key={name} class={`cell ${name}`} role="gridcell">
          {cell(row)}
        </div>
      ))}
    </div>
  );
}

function Head<Row>({ columns }: Pick<GridProps<Row>, 'columns'>) {
  return (
    <div class="row" role="row" aria-rowindex={1}>
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
