/**
 * What a log held at one moment, page by page. It is no copy: a page has the values of when it is asked for, so whoever
 * read all of them and then what changed since that moment has what is there.
 */
import type { ChangeLog } from './change-log.ts';
import { SNAPSHOT_PAGE_ROWS } from './limits.ts';

/** Which page of a snapshot: 1 to `pages`. `total`: how many there were when it began. */
export interface SnapshotPlace {
  readonly page: number;
  readonly pages: number;
  readonly total: number;
}

/**
 * A snapshot of a log, for all who begin to read at this moment; or, of one that is still loaded, until it is whole.
 */
export class Snapshot<V extends { readonly id: string }, M extends object> {
  /** Where its readers go on. */
  readonly position: number;
  readonly pages: number;
  readonly #log: ChangeLog<V>;
  readonly #total: number;
  readonly #ids: string[];
  #isWhole: boolean;
  /** For those who read at about the same time. Only that: all of them are as much as the values themselves. */
  readonly #told: (WeakRef<M> | undefined)[] = [];

  /** `expected`: how many there will be, of which none is loaded yet. Null: all are there. */
  constructor(log: ChangeLog<V>, expected: number | null) {
    this.position = log.head;
    this.#log = log;
    this.#isWhole = expected === null;
    this.#total = expected ?? log.size;
    this.#ids = expected === null ? [...log.ids()] : [];
    this.pages = Math.max(1, Math.ceil(this.#total / SNAPSHOT_PAGE_ROWS));
  }

  /** Takes one that was there already; beyond those that were expected it is a change, which comes after the pages. */
  load(value: V): void {
    if (this.#log.get(value.id) !== undefined || this.#ids.length >= this.#total) this.#log.put(value);
    else {
      this.#log.load(value);
      this.#ids.push(value.id);
    }
  }

  /** Nothing is loaded any more. */
  end(): void {
    this.#isWhole = true;
  }

  /** Whether all of this page is loaded. */
  has(page: number): boolean {
    return this.#isWhole || (page < this.pages && this.#ids.length >= page * SNAPSHOT_PAGE_ROWS);
  }

  page(page: number, wording: { page(values: readonly V[], place: SnapshotPlace): M }): M {
    const kept = this.#told[page]?.deref();
    if (kept !== undefined) return kept;
    const values = this.#ids
      .slice((page - 1) * SNAPSHOT_PAGE_ROWS, page * SNAPSHOT_PAGE_ROWS)
      .flatMap((id) => this.#log.get(id) ?? []);
    const told = wording.page(values, { page, pages: this.pages, total: this.#total });
    this.#told[page] = new WeakRef(told);
    return told;
  }
}
