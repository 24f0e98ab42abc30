/** One field of many. */

/** The values of a field, in their order. */
export function column<T, K extends keyof T>(all: readonly T[], field: K): readonly T[K][];
/** Nothing of nothing. */
export function column<T, K extends keyof T>(all: readonly T[] | undefined, field: K): readonly T[K][] | undefined;
export function column<T, K extends keyof T>(all: readonly T[] | undefined, field: K): readonly T[K][] | undefined {
  return all?.map((one) => one[field]);
}
