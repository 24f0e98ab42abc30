/** Reads pages, and what cites them, as text: enough to find what leads nowhere. */
import { posix } from 'node:path';
import type { SourceFile } from './source-text.ts';

/** Letters that begin the name of a promise, and what looks like one and is none: V8, C0, the sixth version of IP. */
const PROMISE = /\b[CEOVRL]\d{1,2}\b(?!%)/gu;
const NO_PROMISES = new Set(['V8', 'C0', 'V6']);

/** Words that look like settings: capitals with an underline in between. Those that end in one are beginnings of some. */
const SETTING = /(?<![\w$])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+_?(?!\w)/gu;

/** A page of our own, however it is called; URLs are taken out before. */
const PAGE = /(?<![\w/.-])(?<path>(?:\.{1,2}\/)*(?:[\w-]+\/)*[\w-]+\.md)(?:#(?<anchor>[\w-]+))?/gu;

/** A page and a section of it, as comments cite them. */
const SECTION = /(?<page>docs\/[\w/-]+\.md), (?<section>[A-Z][a-z]\w*)/gu;

/** What was never in the repository. */
const ELSEWHERE = /Source: the (?:issue|spec)\b|\bthe spec\b|\b[Ii]ssue \d+\b/gu;

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

/** Settings and constants on a page that the code does not know any more. `code` is all of it, and what others name. */
export function goneSettings({ path, text }: SourceFile, code: string): string[] {
  const named = new Set([...text.replaceAll(URL, '').matchAll(SETTING)].map(({ 0: name }) => name));
  return [...named]
    .filter((name) => !code.includes(name) && !code.includes(name.replace(/_FILE$/u, '')))
    .map((name) => `${path}: ${name}`);
}

/**
 * Commands of our programs on a page that do not exist: in spans and blocks of code, but for what is written from the
 * programs themselves. `isCommand` takes words.
 */
export function goneCommands({ path, text }: SourceFile, isCommand: (words: readonly string[]) => boolean): string[] {
  const written = text.replaceAll(/<!-- begin: [\s\S]*?<!-- end: /gu, '');
  const code = [...written.matchAll(/```[^\n]*\n(?<block>[\s\S]*?)```|`(?<span>[^`\n]+)`/gu)].flatMap(({ groups }) =>
    (groups?.['block'] ?? groups?.['span'] ?? '').split('\n'),
  );
  const called = code.flatMap((line) =>
    [
      ...line.matchAll(/(?:^|[\s(;|&])(?<words>edge(?:-admin|-agent)? [a-z][a-z-]*(?: [a-z][a-z-]*)?)(?![\w.=/:])/gu),
    ].map(({ groups }) => groups?.['words'] ?? ''),
  );
  return [...new Set(called)].filter((words) => !isCommand(words.split(' '))).map((words) => `${path}: ${words}`);
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
