/**
 * Arrays as parameters of set-based statements, without the escaping that `pg` does element by element: that was a
 * sixth of the commit's time (profile of fanout 10,000).
 */

/**
 * An array literal of values in which nothing needs escaping: ids, names of clusters, numbers, words of a closed list.
 * Null stays null; a cluster called null stays a name.
 */
export function plainArray(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map((value) => (typeof value === 'string' ? `"${value}"` : (value ?? 'NULL'))).join(',')}}`;
}

/** What separates joined documents: JSON escapes every control character, so it never stands inside one. */
const SEPARATOR = '\u001e';

/** SQL that makes a text array of a parameter of joined documents. */
export function jsonTextsOf(parameter: string): string {
  return `string_to_array(${parameter}, chr(30))`;
}

/** JSON documents as one text. */
export function jsonTexts(values: readonly unknown[]): string {
  return joinedTexts(values.map((value) => JSON.stringify(value)));
}

/** Documents that are JSON text already, as one text. */
export function joinedTexts(texts: readonly string[]): string {
  return texts.join(SEPARATOR);
}
