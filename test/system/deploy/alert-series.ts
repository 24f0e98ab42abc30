/** Series of two hours for the tests of alerts. */

/**
 * Series by name, with values in promtool's notation: `a+bxn` is a, a+b, … with n steps, of a minute unless the case
 * says otherwise.
 */
export type SeriesValues = Readonly<Record<string, string>>;

/** An alert and its two sides. */
export interface AlertCase {
  /** Between two values of a series, in s. Default: 60. */
  readonly stepS?: number;
  readonly fires: SeriesValues;
  readonly quiet: SeriesValues;
}

/** Labels of an admin. */
export const ADMIN = 'instance="a",job="edge-admin"';

/** Labels of a node whose own metrics have names of an admin's. */
export const LIAR = 'instance="n",job="edge-host",node_id="n"';

/** It stays so. */
export const always = (value: number, steps = 130): string => `${value}+0x${steps}`;

/**
 * Two that tell it in turns, two steps each, in steps of 30 s. Between two turns nobody does for a step: a series that
 * an admin tells no more ends at its next scrape.
 */
export const inTurns = (value: number): readonly [string, string] => {
  const [turn, gap] = [`${value} ${value}`, 'stale'];
  const repeated = (turns: readonly string[]): string => Array.from({ length: 45 }, () => turns.join(' ')).join(' ');
  return [repeated([turn, gap, gap, gap, gap]), repeated([gap, gap, gap, turn, gap])];
};

/** A counter that rises so much a minute. */
export const rising = (perMinute: number): string => `0+${perMinute}x130`;

/** Another value since five minutes. */
export const lately = (before: number, after: number): string => `${before}+0x114 ${after}+0x15`;
