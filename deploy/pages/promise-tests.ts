/** Which tests hold which promise: those that cite its name. */
import { basename } from 'node:path';
import { trackedFiles } from '../../test/support/source/source-text.ts';

/** The names of all promises, as the rows of the page begin with them. */
export function promiseNames(page: string): string[] {
  return [...page.matchAll(/^\| (?<name>[A-Z]\d{1,2}) \| /gmu)].map((match) => match.groups?.['name'] ?? '');
}

/** A table of the promises on the page with links, relative to docs/, to the test files that cite each. */
export function promiseTests(page: string): string {
  const files = trackedFiles()
    .filter(({ path }) => isTest(path))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const names = [...new Set(promiseNames(page))];
  const rows = names.map((name) => {
    const cited = new RegExp(`\\b${name}\\b(?!%)`, 'u');
    const links = files
      .filter(({ text }) => cited.test(text))
      .map(({ path }) => `[${basename(path, '.test.ts')}](../${path})`);
    return `| ${name} | ${links.join(', ')} |\n`;
  });
  return `| Promise | Test files |\n|---|---|\n${rows.join('')}`;
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts') && !/(?:documents|tidy)\.test\.ts$/u.test(path);
}
