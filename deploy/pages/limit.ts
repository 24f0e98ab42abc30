/** One limit of the page, taken from the file that exports it. */

/**
 * A row of the page: the constant, its value with its unit, what it bounds and what happens beyond it, and its file.
 */
export interface Limit {
  readonly name: string;
  readonly value: number;
  readonly beyond: string;
  readonly file: string;
}

/** The names under which numbers stand. */
type NumberOf<Constants> = {
  [Name in keyof Constants & string]: Constants[Name] extends number ? Name : never;
}[keyof Constants & string];

/** Limits that a file exports: which, and what each bounds. One that is gone, or is no number, does not compile. */
export function limits<Constants extends object>(
  file: string,
  constants: Constants,
  rows: readonly (readonly [name: NumberOf<Constants>, beyond: string])[],
): Limit[] {
  return rows.map(([name, beyond]) => ({ name, value: Number(constants[name]), beyond, file }));
}
