/**
 * Reads source files as text, enough to judge how they are organised. The types themselves are the type checker's
 * business.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file by its path from the root of the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** One import or re-export. `target` is a path from the root for own files, else the package or built-in as written. */
export interface Import {
  readonly from: string;
  readonly target: string;
  readonly isOwn: boolean;
  readonly isTypeOnly: boolean;
}

/** The root of the repository. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');

/** All files under version control that are text; in a copy without it, all that is not installed or generated. */
export function trackedFiles(): SourceFile[] {
  return trackedPaths()
    .filter((path) => existsSync(join(ROOT, path)) && !/\.(?:png|ico|woff2?|gz)$/u.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** Paths of all files under version control; in a copy without it, of all that is not installed or generated. */
export function trackedPaths(): string[] {
  try {
    return execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\0')
      .filter(Boolean);
  } catch {
    const skipped = new Set(['node_modules', '.data', 'dist', '.git']);
    return globSync('**/*.*', { cwd: ROOT, exclude: (name) => skipped.has(name) });
  }
}

/** The code of a file without comments; the contents of strings stay. */
export function withoutComments(text: string): string {
  return text.replaceAll(
    /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/gu,
    (_, literal: string | undefined) => literal ?? '',
  );
}

/** The code of a file without comments and with empty strings. */
export function withoutLiterals(text: string): string {
  return withoutComments(text).replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/gu, "''");
}

/**
 * Without the text of programs that it holds as templates: what they import and export is not the file's. Lines stay.
 */
function withoutPrograms(text: string): string {
  return text.replaceAll(
    /(?<=(?:=|=>|return) )`(?:[^`\\]|\\.)*`/gu,
    (program) => `''${'\n'.repeat(program.split('\n').length - 1)}`,
  );
}

/** All imports of a file, dynamic ones too. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const code = withoutComments(withoutPrograms(text));
  const statements = code.matchAll(/^\s*(?:import|export)\s(?<clause>[^'"`;]*?)\sfrom\s*['"](?<name>[^'"]+)['"]/gmu);
  const others = code.matchAll(/(?:^\s*import\s*|\bimport\(\s*)['"](?<name>[^'"]+)['"]/gmu);
  return [
    ...[...statements].map(({ groups }) => made(path, groups?.name ?? '', isTypeOnly(groups?.clause ?? ''))),
    ...[...others].map(({ groups }) => made(path, groups?.name ?? '', false)),
  ];
}

function made(from: string, name: string, isTypeOnly: boolean): Import {
  const isOwn = name.startsWith('.');
  return { from, target: isOwn ? posix.join(posix.dirname(from), name) : name, isOwn, isTypeOnly };
}

/** `type { … }`, or braces in which every name is marked as a type. */
function isTypeOnly(clause: string): boolean {
  if (/^type\s/u.test(clause)) return true;
  const names =
    /^\{(?<names>[^}]*)\}$/u
      .exec(clause.trim())
      ?.groups?.names?.split(',')
      .map((name) => name.trim())
      .filter(Boolean) ?? [];
  return names.length > 0 && names.every((name) => name.startsWith('type '));
}

/** Name of the package of an import: `@scope/name` or `name`. Undefined for own files and Node's own modules. */
export function packageOf({ target, isOwn }: Import): string | undefined {
  if (isOwn || target.startsWith('node:')) return undefined;
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
}

/** One way around for every group of files that import each other in a circle. Empty when there is none. */
export function cyclesIn(imports: readonly Import[]): string[][] {
  const targets = Map.groupBy(
    imports.filter((entry) => entry.isOwn),
    (entry) => entry.from,
  );
  const done = new Set<string>();
  const cycles: string[][] = [];
  const visit = (file: string, trail: readonly string[]): void => {
    const at = trail.indexOf(file);
    if (at !== -1) cycles.push([...trail.slice(at), file]);
    if (at !== -1 || done.has(file)) return;
    for (const { target } of targets.get(file) ?? []) visit(target, [...trail, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return cycles;
}

/**
 * Exported declarations without a docstring, as `path:line name`. One docstring may stand over a group of exports on
 * lines that follow each other, and over a schema together with the type of the same name; that of the file serves the
 * export that the file is named after.
 */
export function undocumentedExports({ path, text }: SourceFile): string[] {
  const lines = withoutPrograms(text).split('\n');
  const documented = new Set<string>();
  const eponym = /^(?:#![^\n]*\n)?\/\*\*/u.test(text) ? posix.basename(path, '.ts').replaceAll('-', '') : undefined;
  let isGroupDocumented = false;
  return lines.flatMap((line, index) => {
    const name =
      /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) (?<name>[\w$]+)/u.exec(
        line,
      )?.groups?.name;
    // a directive to the linter may stand between
    const before = lines.slice(0, index).findLast((earlier) => !earlier.startsWith('// ')) ?? '';
    if (name === undefined) return [];
    isGroupDocumented = before.endsWith('*/') || (isGroupDocumented && before.startsWith('export '));
    if (isGroupDocumented || name.toLowerCase() === eponym) documented.add(name);
    return documented.has(name) ? [] : [`${path}:${index + 1} ${name}`];
  });
}
