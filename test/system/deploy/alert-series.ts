/** Series of two hours for the tests of alerts. */

/** Series by name, with values in promtool's notation: `a+bxn` is a, a+b, … with n steps of a minute. */
export type SeriesValues = Readonly<Record<string, string>>;

/** An alert and its two sides. */
export interface AlertCase {
  readonly fires: SeriesValues;
  readonly quiet: SeriesValues;
}

/** Labels of an admin. */
export const ADMIN = 'instance="a",job="edge-admin"';

/** Labels of a node whose own metrics have names of an admin's. */
export const LIAR = 'instance="n",job="edge-host",node_id="n"';

/** It stays so. */
export const always = (value: number): string => `${value}+0x130`;

/** A counter that rises so much a minute. */
export const rising = (perMinute: number): string => `0+${perMinute}x130`;

/** Another value since five minutes. */
export const lately = (before: number, after: number): string => `${before}+0x114 ${after}+0x15`;
