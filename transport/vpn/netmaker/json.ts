/** JSON of a stranger: what it costs to parse is looked at before it is parsed. */

/**
 * Most values of an answer. Those of Netmaker have one in 25 bytes: 64 MiB of them stay below. As many empty objects,
 * the worst that there is, take 0.8 s and 170 MB (measured); 64 MiB of them would take 6 s and 1.4 GB.
 */
export const ANSWER_VALUES_MAX = 3_000_000;

/** How deep values may stand in each other. Those of Netmaker have 6 levels; 32 MiB of `[` took 19 s and 1.9 GB. */
export const ANSWER_DEPTH_MAX = 64;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Whether parsing these bytes costs no more than an answer may. Says nothing of whether they are JSON. Reads each byte
 * once: 64 MiB take some 0.2 s.
 */
export function isBounded(bytes: Uint8Array): boolean {
  let values = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at] ?? 0) {
      case QUOTE:
        at = endOfText(bytes, at + 1);
        break;
      case COMMA:
        values += 1;
        break;
      case ARRAY:
      case OBJECT:
        values += 1;
        depth += 1;
        break;
      case ARRAY_END:
      case OBJECT_END:
        depth -= 1;
        break;
      default: // belongs to a value that is counted by what stands before it
    }
    if (values > ANSWER_VALUES_MAX || depth > ANSWER_DEPTH_MAX) return false;
  }
  return true;
}

/** What is in these bytes: JSON where it is JSON, else the text itself. Nothing is null. */
export function parsed(bytes: Uint8Array): unknown {
  const text = new TextDecoder().decode(bytes);
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return text;
  }
}

/** Where the quote is that ends a text; behind the last byte where there is none. */
function endOfText(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
