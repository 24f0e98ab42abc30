/** Paths of machines, which are POSIX. Pure. */

/** The last name in it. */
export function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** A name in a folder. */
export function pathIn(folder: string, name: string): string {
  return folder.endsWith('/') ? folder + name : `${folder}/${name}`;
}

/** The folder above; `/` has itself above. */
export function folderAbove(folder: string): string {
  const cut = folder.replace(/\/+$/u, '');
  return cut.slice(0, cut.lastIndexOf('/')) || '/';
}

/** What is not seen, or turns round what stands beside it: all but the joiners that letters and pictures need. */
const UNSEEN = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A name as somebody can read it: by its number what would not be seen, and blanks at its ends as they are drawn. */
export function shownName(name: string): string {
  return name
    .replaceAll(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0)?.toString(16)}}`)
    .replaceAll(/^\s+|\s+$/gu, (blanks) => '␣'.repeat(blanks.length));
}

/** What somebody has to type before it is deleted: its name, or where no keyboard has that, a word. */
export function typedNameOf(name: string, word: string): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]{0,58}[\x21-\x7e])?$/u.test(name) ? name : word;
}

/** Whether a folder can have something of this name, here and not elsewhere. */
export function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/u.test(name);
}

/** A mode as ls shows it, without its first letter. */
export function modeText(mode: number): string {
  return Array.from('rwxrwxrwx', (letter, index) => ((mode >> (8 - index)) & 1 ? letter : '-')).join('');
}
