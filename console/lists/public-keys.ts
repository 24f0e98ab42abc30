/** Public keys as somebody pastes them. Pure. */

/** A key, as the API takes it. */
export interface GivenKey {
  readonly key_name: string;
  readonly public_key: string;
}

/** Longest name of a key, in characters. Source: docs/api.md, Resources. */
const NAME_MAX = 255;

/** Each line that is not empty and no comment; its name is what stands behind the key, or `otherwise`. */
export function publicKeysIn(text: string, otherwise: string): GivenKey[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ public_key: line, key_name: commentOf(line) || otherwise }));
}

/** What it is called. */
export function commentOf(line: string): string {
  return line.trim().split(/\s+/u).slice(2).join(' ').slice(0, NAME_MAX);
}

/** Its algorithm. */
export function typeOf(line: string): string {
  return line.split(/\s/u, 1)[0] ?? '';
}
