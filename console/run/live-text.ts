/** A text that grows at its end and is cut at its beginning. Pure. */

/** What is kept of an output while it comes, in characters. All of it is there once it is over. */
export const LIVE_CHARACTERS_MAX = 131_072;

/** The end of a text, and how much came before it. */
export interface LiveText {
  readonly text: string;
  readonly missedCharacters: number;
}

/** The text with one piece more. It is cut at the beginning of a line where there is one. */
export function withPiece({ text, missedCharacters }: LiveText, piece: string): LiveText {
  const all = text + piece;
  if (all.length <= LIVE_CHARACTERS_MAX) return { text: all, missedCharacters };
  const from = all.length - LIVE_CHARACTERS_MAX / 2; // by halves, so that not each piece copies all
  const line = all.indexOf('\n', from) + 1;
  const cut = line === 0 || line === all.length ? from : line;
  return { text: all.slice(cut), missedCharacters: missedCharacters + cut };
}
