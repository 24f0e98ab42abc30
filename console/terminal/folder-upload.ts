/** What a folder that somebody chose comes to: the folders to be made, then the files. Pure. */
import { pathIn } from './paths.ts';

/** Files of one folder, at most: each takes a message there and back, and a page names them all. */
export const FOLDER_FILES_MAX = 10_000;

/** A file where the browser found it. */
export interface FoundFile {
  readonly name: string;
  /** From the chosen folder on, with `/` between: its own name is the first part. */
  readonly webkitRelativePath: string;
}

/** What is to be done, in its order. */
export interface FolderPlan<F extends FoundFile> {
  /** The name of the folder. */
  readonly name: string;
  /** Paths at the machine; what holds another one stands before it. */
  readonly folders: readonly string[];
  readonly files: readonly { readonly path: string; readonly file: F }[];
}

/** Into which folder of the machine. Null: nothing was chosen. Folders without files are told by no browser. */
export function folderPlanOf<F extends FoundFile>(into: string, files: readonly F[]): FolderPlan<F> | null {
  const name = files[0]?.webkitRelativePath.split('/')[0] ?? '';
  if (name === '') return null;
  const folders = new Set<string>();
  for (const { webkitRelativePath: relative } of files) {
    const parts = relative.split('/').slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth += 1) folders.add(pathIn(into, parts.slice(0, depth).join('/')));
  }
  return {
    name,
    folders: [...folders].toSorted((one, other) => one.split('/').length - other.split('/').length),
    files: files.map((file) => ({ path: pathIn(into, file.webkitRelativePath), file })),
  };
}
