/** How rows of a table are chosen: by its keys, and by a checkbox at each row and one above all. */
import type { Signal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import { NOTHING, shareOf, toggled, withAll, withoutAll, withRange, type Selection } from '../selection.ts';
import { TEXTS } from '../texts.ts';

const T = TEXTS.grid;

/** What a table does with it. */
export interface Choosing {
  readonly chosen: Selection;
  /** Of the rows of the list. */
  readonly share: 'none' | 'some' | 'all';
  /** The row at this place, or with `isRange` all from the last one that was chosen. Whether it is chosen then. */
  choose(place: number, isRange: boolean): boolean;
  /** All rows of the list, or where they are, none of them. Whether they are chosen then. */
  chooseAll(): boolean;
  /** Whether the key was one of these. */
  onKey(event: KeyboardEvent): boolean;
}

interface Chosen<Row> {
  /** Undefined: nothing can be chosen. */
  readonly chosen: Signal<Selection> | undefined;
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Place of the active row; below zero: none is. */
  readonly active: number;
}

/** Null: nothing can be chosen. */
export function useChoosing<Row>({ chosen, rows, idOf, active }: Chosen<Row>): Choosing | null {
  const anchor = useRef<string | null>(null);
  const idAt = (place: number): string => idOf(rows[place] as Row);
  const share = useMemo(() => shareOf(chosen?.value ?? NOTHING, rows.length, idAt), [rows, chosen?.value]);
  if (chosen === undefined) return null;
  const choosing: Choosing = {
    chosen: chosen.value,
    share,
    choose(place, isRange) {
      if (place < 0 || place >= rows.length) return false;
      const from = isRange && anchor.current !== null ? rows.findIndex((row) => idOf(row) === anchor.current) : -1;
      chosen.value = isRange ? withRange(chosen.value, { from, to: place, idAt }) : toggled(chosen.value, idAt(place));
      anchor.current = idAt(place);
      return chosen.value.has(idAt(place));
    },
    chooseAll() {
      const ids = rows.map(idOf);
      chosen.value = share === 'all' ? withoutAll(chosen.value, ids) : withAll(chosen.value, ids);
      return share !== 'all' && ids.length > 0;
    },
    onKey(event) {
      const isWithCtrl = event.ctrlKey || event.metaKey;
      if (isWithCtrl && event.key === 'a') chosen.value = withAll(chosen.value, rows.map(idOf));
      else if (isWithCtrl) return false;
      else if (event.key === 'x' || event.key === 'X') choosing.choose(active, event.key === 'X' || event.shiftKey);
      else if (event.key === 'Escape' && chosen.value.size > 0) chosen.value = NOTHING;
      else return false;
      return true;
    },
  };
  return choosing;
}

/**
 * The checkbox of a row. The focus stays with the table: its keys go on where they were. A browser turns each box that
 * is clicked, also where nothing changes and so nothing is drawn: the click itself puts it right.
 */
export function ChooseOne({
  name,
  isChosen,
  onClick,
}: {
  readonly name: string;
  readonly isChosen: boolean;
  /** Whether it is chosen then. */
  readonly onClick: (isRange: boolean) => boolean;
}) {
  return (
    <div class="cell choice" role="gridcell" onDblClick={(event) => event.stopPropagation()}>
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={T.choose(name)}
        checked={isChosen}
        onMouseDown={keepFocus}
        onClick={({ currentTarget, shiftKey }) => (currentTarget.checked = onClick(shiftKey))}
      />
    </div>
  );
}

/** The checkbox above all of them. */
export function ChooseAll({ choosing }: { readonly choosing: Choosing }) {
  return (
    <div class="cell choice" role="columnheader">
      <input
        type="checkbox"
        aria-label={T.chooseAll}
        checked={choosing.share === 'all'}
        indeterminate={choosing.share === 'some'}
        onClick={({ currentTarget }) => (currentTarget.checked = choosing.chooseAll())}
      />
    </div>
  );
}

function keepFocus(event: MouseEvent): void {
  event.preventDefault();
  if (event.currentTarget instanceof Element)
    event.currentTarget.closest<HTMLElement>('[role=grid]')?.focus({ preventScroll: true });
}
