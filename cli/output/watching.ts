/** Lists that are drawn again as they change, until Ctrl-C. */
import { setTimeout as wait } from 'node:timers/promises';
import { inOrder, namesOf, readList } from './listing.ts';
import { plainText } from './plain-text.ts';
import type { ReadPage } from '../service/pages.ts';
import { problemOf } from '../problem.ts';
import { Screen } from './screen.ts';
import type { Session } from '../service/session.ts';
import { widened, type Table } from '../table/columns.ts';
import { rowsText } from '../table/text.ts';

/** Between two reads of a list that has no feed, in ms. */
const POLL_MS = 2_000;

/** Between two snapshots of what changes all the time: what a person can follow, in ms. */
const DRAW_MS = 250;

/** Ages grow while nothing else changes: drawn again after so long, in ms. */
const REDRAW_MS = 1_000;

/** Rows as they are now, and what goes wrong on the way to them; null: nothing. */
export interface Snapshot<Row> {
  readonly rows: readonly Row[];
  readonly problem: string | null;
}

/** Tells the rows of a list whenever they change, until `signal` aborts. Rejects when there is nothing to watch. */
export type Source<Row> = (changed: (snapshot: Snapshot<Row>) => void, signal: AbortSignal) => Promise<void>;

/** Draws what a source tells. Resolves when `signal` aborts. */
export async function watchList<Row>(
  session: Session,
  table: Table<Row>,
  source: Source<Row>,
  { sort, limit, signal }: { readonly sort?: string | undefined; readonly limit: number; readonly signal: AbortSignal },
): Promise<void> {
  const screen = new Screen(process.stdout, session.view());
  const fitting = session.format === 'wide' ? widened(table) : table; // a line that wraps would push others out
  let snapshot: Snapshot<Row> | null = null;
  let named: readonly Row[] = [];
  let nodeName = (id: string): string => id;
  const ended = new AbortController();
  const drawnUntil = AbortSignal.any([signal, ended.signal]);
  const draw = async (): Promise<void> => {
    if (snapshot === null) return;
    const { rows, problem } = snapshot;
    if (named !== rows) nodeName = await namesOf(session.api, table, rows).catch(() => nodeName);
    named = rows;
    if (drawnUntil.aborted) return;
    const text = rowsText(inOrder(rows, table, sort, nodeName).slice(0, limit), fitting, {
      ...session.view(nodeName),
      format: 'table',
    });
    const now = new Date().toTimeString().slice(0, 8);
    screen.draw(text, problem === null ? `${now}; Ctrl-C ends` : `${now}; ${plainText(problem)}`);
  };
  const undrawn = Promise.withResolvers<never>();
  const redraw = redrawing(draw, drawnUntil, undrawn.reject);
  process.stdout.on('resize', redraw);
  try {
    const changed = (next: Snapshot<Row>): void => {
      snapshot = next;
      redraw();
    };
    await Promise.race([source(changed, drawnUntil), undrawn.promise]);
  } finally {
    ended.abort();
    process.stdout.off('resize', redraw);
    screen.end();
  }
}

/**
 * Draws soon after each call of what it answers, at most every DRAW_MS however many there are, and what ages while
 * there is none; until `signal` aborts, or something cannot be drawn: then `failed` is told.
 */
export function redrawing(
  draw: () => Promise<void>,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): () => void {
  let change = Promise.withResolvers<void>();
  const redraw = (): void => change.resolve();
  const timer = setInterval(redraw, REDRAW_MS);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  const work = async (): Promise<void> => {
    await change.promise;
    change = Promise.withResolvers<void>();
    if (signal.aborted) return;
    await draw();
    setTimeout(() => void work().catch(failed), DRAW_MS);
  };
  void work().catch(failed);
  return redraw;
}

/** Reads the list again and again. The first read must succeed. */
export function polled<Row>(
  session: Session,
  table: Table<Row>,
  read: ReadPage<Row>,
  { limit, sort }: { readonly limit: number; readonly sort?: string | undefined },
): Source<Row> {
  return async (changed, signal) => {
    let rows: readonly Row[] | null = null;
    while (!signal.aborted) {
      try {
        ({ rows } = await readList(session.api, table, read, { limit, sort, isForPeople: false }));
        changed({ rows, problem: null });
      } catch (error) {
        if (rows === null || signal.aborted) throw error;
        changed({ rows, problem: problemOf(error, session.connection).message });
      }
      await wait(POLL_MS, undefined, { signal }).catch(() => {});
    }
  };
}
