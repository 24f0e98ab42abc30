/** Lists that are drawn again as they change, until Ctrl-C. */
import { setTimeout as wait } from 'node:timers/promises';
import { showsColours } from './colours.ts';
import { inOrder, namesOf, readList } from './listing.ts';
import { plainText } from './plain-text.ts';
import type { ReadPage } from './pages.ts';
import { problemOf } from './problem.ts';
import { Screen } from './screen.ts';
import type { Session } from './session.ts';
import type { Table } from './table/columns.ts';
import { rowsText } from './table/text.ts';

/** Between two reads of a list that has no feed, in ms. */
const POLL_MS = 2_000;

/** Ages grow while nothing else changes: drawn again after so long, in ms. */
const REDRAW_MS = 1_000;

/** Rows as they are now, and what goes wrong on the way to them; null: nothing. */
export interface Picture<Row> {
  readonly rows: readonly Row[];
  readonly problem: string | null;
}

/** Tells the rows of a list whenever they change, until `signal` aborts. Rejects when there is nothing to watch. */
export type Source<Row> = (changed: (picture: Picture<Row>) => void, signal: AbortSignal) => Promise<void>;

/** Draws what a source tells. Resolves when `signal` aborts. */
export async function watchList<Row>(
  session: Session,
  table: Table<Row>,
  source: Source<Row>,
  { sort, limit, signal }: { readonly sort?: string | undefined; readonly limit: number; readonly signal: AbortSignal },
): Promise<void> {
  const screen = new Screen(process.stdout);
  let picture: Picture<Row> | null = null;
  let nodeName = (id: string): string => id;
  const draw = (): void => {
    if (picture === null) return;
    const { rows, problem } = picture;
    const text = rowsText(inOrder(rows, table, sort, nodeName).slice(0, limit), table, {
      format: session.format,
      width: process.stdout.columns,
      isColoured: showsColours(process.stdout, process.env),
      nowMs: Date.now(),
      nodeName,
    });
    const now = new Date().toTimeString().slice(0, 8);
    screen.draw(text, problem === null ? `${now}; Ctrl-C ends` : `${now}; ${plainText(problem)}`);
  };
  const changed = (next: Picture<Row>): void => {
    picture = next;
    void named(next.rows);
  };
  const named = async (rows: readonly Row[]): Promise<void> => {
    nodeName = await namesOf(session.api, table, rows).catch(() => nodeName);
    if (!signal.aborted) draw();
  };
  const timer = setInterval(draw, REDRAW_MS);
  process.stdout.on('resize', draw);
  try {
    await source(changed, signal);
  } finally {
    clearInterval(timer);
    process.stdout.off('resize', draw);
    screen.end();
  }
}

/** Reads the list again and again. The first read must succeed. */
export function polled<Row>(session: Session, table: Table<Row>, read: ReadPage<Row>, limit: number): Source<Row> {
  return async (changed, signal) => {
    let rows: readonly Row[] | null = null;
    while (!signal.aborted) {
      try {
        ({ rows } = await readList(session.api, table, read, { limit, isForPeople: false }));
        changed({ rows, problem: null });
      } catch (error) {
        if (rows === null) throw error;
        changed({ rows, problem: problemOf(error, session.connection).message });
      }
      await wait(POLL_MS, undefined, { signal }).catch(() => {});
    }
  };
}
