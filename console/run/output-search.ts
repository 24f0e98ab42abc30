/** Words that are looked for in outputs and names. Pure. */
import type { OutputGroup } from './grouping.ts';

/** Longest text that is looked for, in characters. */
export const SEARCH_CHARACTERS_MAX = 200;

/** What is looked for, wherever it stands and however it is written; null: nothing is. */
export function patternOf(words: string): RegExp | null {
  const text = words.slice(0, SEARCH_CHARACTERS_MAX).trim();
  return text === '' ? null : new RegExp(text.replaceAll(/[$()*+.?[\\\]^{|}]/gu, String.raw`\$&`), 'giu');
}

/** Groups whose output, or one of whose nodes, has it; and of how many nodes the output was looked through in part. */
export function searched(
  groups: readonly OutputGroup[],
  pattern: RegExp | null,
  nameOf: (execution: string) => string,
): { readonly groups: readonly OutputGroup[]; readonly notSearched: number } {
  if (pattern === null) return { groups, notSearched: 0 };
  let notSearched = 0;
  const found = groups.filter(({ text, ids, isWhole, output }) => {
    if (!isWhole || output === 'large') notSearched += ids.size;
    return has(pattern, text) || [...ids].some((id) => has(pattern, nameOf(id)));
  });
  return { groups: found, notSearched };
}

function has(pattern: RegExp, text: string): boolean {
  pattern.lastIndex = 0; // it is a global one, and would go on from there
  return pattern.test(text);
}

/**
 * Executions of a group that stand by name: `first` where it is among them, then those whose node's name has what is
 * looked for, then others, `max` at most. So each of many can be come to.
 */
export function foundFirst(
  ids: ReadonlySet<string>,
  {
    max,
    first,
    pattern,
    nameOf,
  }: {
    readonly max: number;
    readonly first: string;
    readonly pattern: RegExp | null;
    readonly nameOf: (execution: string) => string;
  },
): readonly string[] {
  const found = ids.has(first) ? [first] : [];
  const others: string[] = [];
  for (const id of ids) {
    if (found.length >= max || (pattern === null && others.length >= max)) break;
    if (id === first) continue;
    if (pattern !== null && has(pattern, nameOf(id))) found.push(id);
    else if (others.length < max) others.push(id);
  }
  return [...found, ...others].slice(0, max);
}

/** A text in pieces, every second of which is what was looked for. */
export function markedPieces(text: string, pattern: RegExp | null): readonly string[] {
  if (pattern === null) return [text];
  const pieces: string[] = [];
  let end = 0;
  for (const { index, 0: found } of text.matchAll(pattern)) {
    pieces.push(text.slice(end, index), found);
    end = index + found.length;
  }
  return [...pieces, text.slice(end)];
}
