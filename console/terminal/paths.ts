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

/** A mode as ls shows it, without its first letter. */
export function modeText(mode: number): string {
  return Array.from('rwxrwxrwx', (letter, index) => ((mode >> (8 - index)) & 1 ? letter : '-')).join('');
}
