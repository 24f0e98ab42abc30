/** The word that was meant, where one was misspelt. */

/** Letters that are wrong, missing, too many or exchanged in a word that is still taken for another: a third of it. */
const WRONG_SHARE_MAX = 1 / 3;

/**
 * The known word that is nearest to a given one, in whatever case: with few wrong letters, or with all of its parts and
 * some more. Null: none is near.
 */
export function nearestOf(given: string, known: readonly string[]): string | null {
  const text = given.toLowerCase();
  let nearest: string | null = null;
  let least = Math.max(1, Math.floor(text.length * WRONG_SHARE_MAX)) + 1;
  for (const word of known) {
    const away = distance(text, word.toLowerCase());
    if (away >= least) continue;
    least = away;
    nearest = word;
  }
  return nearest ?? holderOf(text, known);
}

/** The shortest word that has all parts of a text. One part alone is in too many. */
function holderOf(text: string, known: readonly string[]): string | null {
  const wanted = partsOf(text);
  if (wanted.length < 2) return null;
  const holders = known.filter((word) => {
    const parts = new Set(partsOf(word.toLowerCase()));
    return wanted.every((part) => parts.has(part));
  });
  return holders.toSorted((one, other) => one.length - other.length)[0] ?? null;
}

function partsOf(word: string): readonly string[] {
  return word.split(/[._-]/u).filter((part) => part !== '');
}

/**
 * How many letters must be changed, put in, taken out or exchanged with the next one. Source: optimal string alignment
 * distance, by rows.
 */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_none, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isExchanged =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      next[column] = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = last;
    last = next;
  }
  return last[other.length] ?? 0;
}
