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

/** A mode as ls shows it, without its first letter. */
export function modeText(mode: number): string {
  return Array.from('rwxrwxrwx', (letter, index) => ((mode >> (8 - index)) & 1 ? letter : '-')).join('');
}
