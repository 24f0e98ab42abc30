/** What people call a node, everywhere that a person reads. */
import type { NodeFacts } from '../../transport/protocol/facts.ts';

/** Characters of its id that stand for a node without any other name. */
export const SHORT_ID_CHARS = 8;

/** Its first alias in alphabetical order, else the name of its machine, else the beginning of its id. Never empty. */
export function displayName(
  { id, facts }: { readonly id: string; readonly facts: Pick<NodeFacts, 'hostname'> | null },
  aliases: readonly { readonly name: string }[],
): string {
  const [first] = aliases.map(({ name }) => name).sort(); // by code point, as the database sorts
  return first ?? facts?.hostname ?? id.slice(0, SHORT_ID_CHARS);
}
