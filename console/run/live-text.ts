/** A text that grows at its end and is cut at its beginning. Pure. */

/** What is kept of an output while it comes, in characters. All of it is there once it is over. */
export const LIVE_CHARACTERS_MAX = 131_072;

/** The end of a text, and how much came before it. */
export interface LiveText {
  readonly text: string;
  /** What the machine did not keep counts in bytes: of its characters nobody knows. */
  readonly missedCharacters: number;
  /** Where its next piece begins, in bytes of UTF-8. */
  readonly offset: number;
}

/** Nothing came yet. */
export const NO_TEXT: LiveText = { text: '', missedCharacters: 0, offset: 0 };

const UTF_8 = new TextEncoder();

/**
 * The text with one piece more. It is cut at the beginning of a line where there is one. Where something is missing
 * between the two, the piece begins it anew: nothing stands together that did not.
 */
export function withPiece(live: LiveText, piece: { readonly offset: number; readonly text: string }): LiveText {
  const { text, missedCharacters } = piece.offset > live.offset ? afterGap(live, piece.offset - live.offset) : live;
  const all = text + piece.text;
  const offset = piece.offset + UTF_8.encode(piece.text).length;
  if (all.length <= LIVE_CHARACTERS_MAX) return { text: all, missedCharacters, offset };
  const from = all.length - LIVE_CHARACTERS_MAX / 2; // by halves, so that not each piece copies all
  const line = all.indexOf('\n', from) + 1;
  const cut = line === 0 || line === all.length ? from : line;
  return { text: all.slice(cut), missedCharacters: missedCharacters + cut, offset };
}

function afterGap({ text, missedCharacters }: LiveText, gapBytes: number): Omit<LiveText, 'offset'> {
  return { text: '', missedCharacters: missedCharacters + text.length + gapBytes };
}
