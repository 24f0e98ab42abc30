/** Texts as words of a shell. */

/** What no shell takes for anything else than itself. */
const PLAIN = /^[\w@%+=:,./-]+$/u;

/** A text as one word of a script, whatever is in it. Source: POSIX, Shell Command Language, 2.2.2. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The same for people: quoted only where it must be. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : quotedWord(text);
}
