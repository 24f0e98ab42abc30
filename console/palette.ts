/** What the palette finds among what it is given: by words, fuzzily, the best first. Pure. */

/** Kinds of what may be found, in the order in which they stand. */
export const KINDS = ['pages', 'actions', 'commands', 'clusters', 'groups', 'nodes', 'on-node'] as const;
/** One of them. */
export type Kind = (typeof KINDS)[number];

/** What may be found. */
export interface Item {
  readonly kind: Kind;
  /** Of its own among all. */
  readonly id: string;
  readonly text: string;
  /** Stands beside it, and is looked through too. */
  readonly more?: string;
  /** Is looked through, and stands nowhere. */
  readonly also?: string;
  /** The id of the node that it is. */
  readonly node?: string;
  readonly leads: { readonly to: string } | { readonly does: () => void };
}

/** One that was found: the larger its score, the better. */
interface Found {
  readonly item: Item;
  readonly score: number;
}

/** What is shown of each kind, and of all, at most: nobody reads on. */
export const FOUND_OF_KIND_MAX = 8;
export const FOUND_MAX = 30;

/** Nodes for which it is said what can be done on them. */
export const ACTED_NODES_MAX = 3;

/** Longest text that is looked for, and most of its words: all others are ignored. */
export const SOUGHT_CHARACTERS_MAX = 200;
const WORDS_MAX = 8;

/**
 * How good a word is found: in whole, at the beginning, at the beginning of a word, within, or its letters in order.
 */
const SCORES = { whole: 100, beginning: 80, word: 60, within: 40, letters: 10 } as const;

/** What stands beside an item counts for less than its own text. */
const MORE_COST = 15;

/** A word of fewer letters than this is found in whole pieces only: two letters in order stand in nearly everything. */
const LETTERS_MIN = 3;

/** Where one word is found in a text. Null: nowhere. Both in lower case. */
export function scoreOf(text: string, word: string): number | null {
  const at = text.indexOf(word);
  if (at === 0) return text.length === word.length ? SCORES.whole : SCORES.beginning;
  if (at > 0) return beginsWord(text, word, at) ? SCORES.word : SCORES.within;
  return word.length >= LETTERS_MIN && hasLetters(text, word) ? SCORES.letters : null;
}

/**
 * Those in which every word is found: by kind, the kind with the best first, the best of each first, and of equals the
 * shortest. Without a word: the first of each kind but nodes and clusters, of which there are too many.
 */
export function findItems(items: Iterable<Item>, sought: string): readonly Item[] {
  const words = wordsOf(sought);
  const byKind = new Map<Kind, Found[]>();
  for (const item of items) {
    const score = words.length === 0 ? (isListed(item.kind) ? 0 : null) : itemScore(item, words);
    if (score === null) continue;
    const found = byKind.get(item.kind);
    if (found === undefined) byKind.set(item.kind, [{ item, score }]);
    else keep(found, { item, score }, words.length > 0);
  }
  return [...byKind]
    .toSorted(([one, ones], [other, others]) => best(others) - best(ones) || KINDS.indexOf(one) - KINDS.indexOf(other))
    .flatMap(([, found]) => found.map(({ item }) => item))
    .slice(0, FOUND_MAX);
}

/**
 * The same, with what can be done on the best of the nodes that were found, behind them. Words that begin that (`run
 * web-1`) are of the action, not of the node; then each of a few nodes is offered with it alone. `items`: asked anew
 * for each look through them.
 */
export function findWithActions(
  items: () => Iterable<Item>,
  sought: string,
  actionsOn: (node: Item) => readonly NodeAction[],
): readonly Item[] {
  const found = findItems(items(), sought);
  const [best] = found.filter(({ kind }) => kind === 'nodes');
  if (best !== undefined) return behindNodes(found, actionsOn(best).map(itemOf));
  const words = wordsOf(sought);
  const isVerb = (word: string): boolean => NODE_VERBS.some((verb) => verb.startsWith(word));
  const names = words.filter((word) => !isVerb(word));
  if (names.length === 0 || names.length === words.length) return found;
  const nodes = findItems(items(), names.join(' ')).filter(({ kind }) => kind === 'nodes');
  const actions = nodes
    .slice(0, ACTED_NODES_MAX)
    .flatMap(actionsOn)
    .filter(({ verb }) => words.some((word) => verb.startsWith(word)));
  return [...actions.map(itemOf), ...found].slice(0, FOUND_MAX);
}

/** What can be done on a node, as its words begin. */
export const NODE_VERBS = ['run', 'terminal', 'diagnose'] as const;

/** One of it. */
export interface NodeAction {
  readonly verb: (typeof NODE_VERBS)[number];
  readonly item: Item;
}

function itemOf({ item }: NodeAction): Item {
  return item;
}

/** Others make room for them: they are of what was looked for. */
function behindNodes(found: readonly Item[], actions: readonly Item[]): readonly Item[] {
  const at = found.findLastIndex(({ kind }) => kind === 'nodes') + 1;
  return [...found.slice(0, at), ...actions, ...found.slice(at)].slice(0, FOUND_MAX + NODE_VERBS.length);
}

/** Of the words the longest, as it is typed; wildcards of the API are none here. */
export function longestWordOf(sought: string): string {
  const words = sought.slice(0, SOUGHT_CHARACTERS_MAX).replaceAll('*', ' ').split(/\s+/u);
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest), '');
}

function isListed(kind: Kind): boolean {
  return kind !== 'nodes' && kind !== 'clusters';
}

/** Keeps the best few in order, so that 100,000 nodes are one pass and no sort. */
function keep(found: Found[], one: Found, isBounded: boolean): void {
  let at = found.length;
  while (at > 0 && isBetter(one, found[at - 1])) at -= 1;
  if (isBounded && at >= FOUND_OF_KIND_MAX) return;
  found.splice(at, 0, one);
  if (isBounded && found.length > FOUND_OF_KIND_MAX) found.pop();
}

function isBetter(one: Found, other: Found | undefined): boolean {
  if (other === undefined || one.score !== other.score) return other !== undefined && one.score > other.score;
  return one.score > 0 && one.item.text.length < other.item.text.length;
}

function best([first]: readonly Found[]): number {
  return first?.score ?? 0;
}

/** The sum over all words; null: one of them is not found. */
function itemScore({ text, more = '', also = '' }: Item, words: readonly string[]): number | null {
  const [own, beside] = [text.toLowerCase(), (also === '' ? more : `${more}\n${also}`).toLowerCase()];
  let sum = 0;
  for (const word of words) {
    const [inOwn, inMore] = [scoreOf(own, word), beside === '' ? null : scoreOf(beside, word)];
    const score = Math.max(inOwn ?? 0, inMore === null || inMore === SCORES.letters ? 0 : inMore - MORE_COST);
    if (score === 0) return null;
    sum += score;
  }
  return sum;
}

function wordsOf(sought: string): readonly string[] {
  const words = sought.slice(0, SOUGHT_CHARACTERS_MAX).toLowerCase().split(/\s+/u);
  return words.filter((word) => word !== '').slice(0, WORDS_MAX);
}

function beginsWord(text: string, word: string, first: number): boolean {
  for (let at = first; at >= 0; at = text.indexOf(word, at + 1))
    if (!/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')) return true;
  return false;
}

/** Whether the letters of a word stand in a text in their order. */
function hasLetters(text: string, word: string): boolean {
  let at = -1;
  for (const letter of word) {
    at = text.indexOf(letter, at + 1);
    if (at < 0) return false;
  }
  return true;
}
