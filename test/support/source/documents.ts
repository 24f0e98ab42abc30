/** Reads pages, and what cites them, as text: enough to find what leads nowhere. */
import { posix } from 'node:path';
import type { KnownCommand } from '../../../deploy/pages/commands.ts';
import type { SourceFile } from './source-text.ts';

/** Letters that begin the name of a promise, and what looks like one and is none: V8, C0, the sixth version of IP. */
const PROMISE = /\b[CEOVRL]\d{1,2}\b(?!%)/gu;
const NO_PROMISES = new Set(['V8', 'C0', 'V6']);

/**
 * Words that look like settings: capitals with an underline in between. Those that end in one are beginnings of some.
 */
const SETTING = /(?<![\w$])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+_?(?!\w)/gu;

/** A page of our own, however it is called; URLs are taken out before. */
const PAGE = /(?<![\w/.-])(?<path>(?:\.{1,2}\/)*(?:[\w-]+\/)*[\w-]+\.md)(?:#(?<anchor>[\w-]+))?/gu;

/** A page and a section of it, as comments cite them. */
const SECTION = /(?<page>docs\/[\w/-]+\.md), (?<section>[A-Z][a-z]\w*)/gu;

/** What was never in the repository. */
const ELSEWHERE = /Source: (?:the )?(?:issue|spec)\b|\bthe spec\b|(?<= )\(spec[),]|\b[Ii]ssue \d+\b/gu;

const URL = /\bhttps?:\/\/\S+/gu;
const LINK = /\]\((?!https?:)(?<target>[^)\s]+)\)/gu;

/** Links and citations of `file` that lead to no page, no file or no section. `exists` takes a path from the root. */
export function deadLinks(file: SourceFile, pages: readonly SourceFile[], exists: (path: string) => boolean): string[] {
  const isPage = file.path.endsWith('.md');
  const links = isPage ? [...file.text.matchAll(LINK)].map((match) => match.groups?.['target'] ?? '') : [];
  const cited = [...flat(file.text).matchAll(PAGE)].map(({ 0: text }) => text);
  const dead = [...links, ...cited].filter((target) => !leads(file, target, pages, exists));
  const sections = [...flat(file.text).matchAll(SECTION)].flatMap(({ groups }) => {
    const headings = headingsOf(pages.find(({ path }) => path === groups?.['page'])?.text ?? '');
    const section = groups?.['section'] ?? '';
    return headings.some((heading) => heading.startsWith(section)) ? [] : [`${groups?.['page']}, ${section}`];
  });
  return [...new Set([...dead, ...sections])].map((target) => `${file.path} → ${target}`);
}

function leads(
  file: SourceFile,
  target: string,
  pages: readonly SourceFile[],
  exists: (path: string) => boolean,
): boolean {
  const [path = '', anchor] = target.split('#');
  const beside = posix.join(posix.dirname(file.path), path);
  // A page may cite its neighbours by name alone; code cites from the root, or by a way that begins with a dot.
  const isNear = file.path.endsWith('.md') || path.startsWith('.');
  const found = path === '' ? file.path : [...(isNear ? [beside] : []), path].find((each) => exists(each));
  if (found === undefined) return false;
  const page = pages.find((each) => each.path === found);
  return anchor === undefined || page === undefined || anchorsOf(page.text).includes(anchor);
}

/** Citations of what is not in the repository. */
export function citationsElsewhere({ path, text }: SourceFile): string[] {
  return [...flat(text).matchAll(ELSEWHERE)].map(({ 0: cited }) => `${path}: ${cited}`);
}

/** Names of promises in a file that the page does not hold. */
export function unknownPromises({ path, text }: SourceFile, known: ReadonlySet<string>): string[] {
  const cited = new Set([...text.replaceAll(URL, '').matchAll(PROMISE)].map(({ 0: name }) => name));
  return [...cited].filter((name) => !NO_PROMISES.has(name) && !known.has(name)).map((name) => `${path}: ${name}`);
}

/**
 * Settings and constants on a page that the code does not know any more. `known`: the words of all of it, and those of
 * others. One that ends in an underline is the beginning of some.
 */
export function goneSettings({ path, text }: SourceFile, known: ReadonlySet<string>): string[] {
  const named = new Set([...text.replaceAll(URL, '').matchAll(SETTING)].map(({ 0: name }) => name));
  const isKnown = (name: string): boolean =>
    known.has(name) || (name.endsWith('_') && [...known].some((each) => each.startsWith(name)));
  return [...named]
    .filter((name) => !isKnown(name) && !isKnown(name.replace(/_FILE$/u, '')))
    .map((name) => `${path}: ${name}`);
}

/**
 * Commands of our programs on a page that do not exist, and options that these do not take: in spans and blocks of
 * code, but for what is written from the programs themselves.
 */
export function goneCommands({ path, text }: SourceFile, known: ReadonlyMap<string, KnownCommand>): string[] {
  const written = text.replaceAll(/<!-- begin: [\s\S]*?<!-- end: /gu, '');
  const code = [...written.matchAll(/```[^\n]*\n(?<block>[\s\S]*?)```|`(?<span>[^`\n]+)`/gu)].flatMap(({ groups }) =>
    (groups?.['block']?.replaceAll(/\\\n\s*/gu, ' ') ?? groups?.['span'] ?? '').split('\n'),
  );
  const gone = code.flatMap((line) => [...line.matchAll(CALL)].flatMap(({ groups }) => goneIn(groups, known)));
  return [...new Set(gone)].map((words) => `${path}: ${words}`);
}

/** A call of one of our programs, up to where another one may begin. */
const CALL =
  /(?:^|[\s(;|&])(?<program>edge(?:-admin|-agent|-updater)?) (?<first>[a-z][a-z-]*)(?![\w.=/:])(?: (?<second>[a-z][a-z-]*)(?![\w.=/:]))?(?<rest>[^|;&#)]*)/gu;

function goneIn(
  groups: Readonly<Record<string, string | undefined>> | undefined,
  known: ReadonlyMap<string, KnownCommand>,
): string[] {
  const one = `${groups?.['program']} ${groups?.['first']}`;
  const two = groups?.['second'] === undefined ? one : `${one} ${groups['second']}`;
  const command = known.get(one)?.hasCommands === true && two !== one ? known.get(two) : known.get(one);
  if (command === undefined) return [known.has(one) ? two : one];
  const own = (groups?.['rest'] ?? '').split(' -- ')[0] ?? '';
  const options = [...own.matchAll(/(?<![\w'"-])--[a-z][a-z\d-]*/gu)].map(({ 0: option }) => option);
  return options.filter((option) => command.options?.includes(option) === false).map((option) => `${two} ${option}`);
}

/** What the code is called: its folders at the root, and its files. */
export interface CodeNames {
  readonly cited: RegExp;
  readonly files: ReadonlySet<string>;
}

/** `paths`: of all sources. */
export function codeNames(paths: readonly string[]): CodeNames {
  const folders = new Set(paths.map((path) => path.split('/')[0] ?? '').filter((one) => /^[a-z]+$/u.test(one)));
  return {
    cited: new RegExp(
      `(?<![\\w./@*$}-])(?:(?:${[...folders].join('|')})/[\\w/-]+(?:\\.[a-z]+)*|[a-z][\\w-]*(?:\\.test)?\\.tsx?)(?![\\w/<-])`,
      'gu',
    ),
    files: new Set(paths.map((path) => posix.basename(path))),
  };
}

/**
 * Paths and names of the code in comments and on pages that lead to nothing. A path begins at the root; a name alone
 * ends in `.ts`. `exists` takes a path.
 */
export function deadPaths(
  { path, text }: SourceFile,
  { cited, files }: CodeNames,
  exists: (path: string) => boolean,
): string[] {
  const comments = path.endsWith('.md') ? text : commentsOf(text);
  return [...new Set([...comments.replaceAll(URL, '').matchAll(cited)].map(({ 0: each }) => each))]
    .filter((each) => !(each.includes('/') ? exists(each) || exists(`${each}.ts`) : files.has(each)))
    .map((each) => `${path}: ${each}`);
}

function commentsOf(code: string): string {
  return [...code.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gmu)].map(({ 0: comment }) => comment).join('\n');
}

/** The anchors of a page, as a forge makes them of its headings. */
export function anchorsOf(page: string): string[] {
  const seen = new Map<string, number>();
  return headingsOf(page).map((heading) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}

function headingsOf(page: string): string[] {
  return [...page.replaceAll(/^```[\s\S]*?^```/gmu, '').matchAll(/^#+ (?<heading>.+)$/gmu)].map(
    ({ groups }) => groups?.['heading'] ?? '',
  );
}

/** Without URLs, and with comments and paragraphs on one line, so that a citation may be wrapped. */
function flat(text: string): string {
  return text.replaceAll(URL, '').replaceAll(/,\n\s*(?:\*|\/\/|#)?\s*/gu, ', ');
}
