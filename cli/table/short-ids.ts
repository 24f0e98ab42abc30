/** Ids as people see and give them: their beginnings. */

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

/** Lengths to which an id is cut, in characters: never behind a dash. */
const LENGTHS = [8, 13, 18, 23, 36] as const;

/** Whether a text is a whole id. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * The first characters of an id, enough to tell it apart as a rule: eight, or those that hold the whole time of a
 * UUID of version 7, whose first eight are the same for all that is made within a minute.
 */
export function shortId(id: string): string {
  return UUID.test(id) ? id.slice(0, lengthOf(id)) : id;
}

/** The same for ids that stand together: all as short as they are still told apart. */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const known = [...new Set(ids)].filter(isUuid);
  const length = LENGTHS.find((one) => new Set(known.map((id) => id.slice(0, one))).size === known.length) ?? 36;
  return (id) => (UUID.test(id) ? id.slice(0, length) : id);
}

function lengthOf(id: string): number {
  return id[14] === '7' ? 13 : 8;
}
