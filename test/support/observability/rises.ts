/** An exposition that is scraped again and again, and what happens held against what it counts. */
import { isDeepStrictEqual } from 'node:util';
import { until } from '../until.ts';
import { seriesOf } from './series.ts';

/** Samples by their whole name. */
export type Series = Readonly<Record<string, number>>;

/**
 * Names of what only rises, and is absent until there is something to count. Anything else is counted anew each time.
 */
export const COUNTER_NAME = /_(?:total|count|sum|bucket)(?:\{|$)/u;

/** Scrapes what `ask` answers. */
export class Scraper {
  /** Everything that was scraped, in order. */
  readonly history: Series[] = [];
  readonly #ask: () => Promise<string>;

  constructor(ask: () => Promise<string>) {
    this.#ask = ask;
  }

  async scraped(): Promise<Series> {
    const series = seriesOf(await this.#ask());
    this.history.push(series);
    return series;
  }

  /**
   * By how much what happens raises these samples, once that is what is wanted in two scrapes in a row: rows are read
   * before the counters beside them, so that a single one may mix what was with what is.
   */
  async risen(wanted: Series, happens: () => Promise<unknown>): Promise<Series> {
    const names = Object.keys(wanted);
    const before = await until('what is counted in rows', () => this.#counted(names));
    await happens();
    let inARow = 0;
    return until('everything to be counted', async () => {
      const wasRisen = inARow;
      inARow = 0;
      const after = await this.#counted(names);
      const now = Object.fromEntries(names.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]));
      if (!isDeepStrictEqual(now, wanted)) throw new Error(JSON.stringify(now));
      inARow = wasRisen + 1;
      return inARow >= 2 && now;
    });
  }

  /** Rejects when something is left out of it, as counting the rows took too long. */
  async #counted(names: readonly string[]): Promise<Series> {
    const series = await this.scraped();
    const missing = names.filter((name) => !COUNTER_NAME.test(name) && series[name] === undefined);
    if (missing.length > 0) throw new Error(`not counted: ${missing.join(', ')}`);
    return series;
  }
}
