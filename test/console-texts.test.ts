/**
 * What pages of the console say stands in console/texts/, where it is read as a whole. A failure here is a text to move
 * there.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from './support/source/source-text.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

/** Attributes of elements, and properties of our own parts, that are read by people. */
const READ = ['placeholder', 'title', 'aria-label', 'aria-description', 'alt', 'label', 'hint', 'text', 'action'];

/** Marks that are no words, and `g`, the key on its cap. */
const MARKS = ['', '×', '↑', '/', '·', ':', '.', ',', '?', 'g'];

/** By a rule of the linter, with no other: its plugin has many that are about another library. */
const RULES = {
  plugins: ['react'],
  categories: { correctness: 'off' },
  rules: { 'react/jsx-no-literals': ['error', { restrictedAttributes: READ, allowedStrings: MARKS }] },
};

/** Where texts stand in the pages below a directory, as file, line and column. */
function literalsIn(t: ExecutionContext, directory: string): readonly string[] {
  const config = join(temporaryDirectory(t), 'rules.json');
  writeFileSync(config, JSON.stringify(RULES));
  const { status, stdout, stderr } = spawnSync(
    join(ROOT, 'node_modules/.bin/oxlint'),
    ['-c', config, '--disable-nested-config', '-f', 'unix', '.'],
    { cwd: directory, encoding: 'utf8' },
  );
  t.true(status === 0 || status === 1, `${stdout}${stderr}`);
  return stdout.split('\n').filter((line) => /^\S+:\d+:\d+: /u.test(line));
}

test('no page of the console has a text of its own', (t) => {
  t.deepEqual(literalsIn(t, join(ROOT, 'console')), []);
});

test('texts are found wherever they stand in a page, and what is none is not', (t) => {
  const pages = join(temporaryDirectory(t), 'pages');
  mkdirSync(pages);
  writeFileSync(
    join(pages, 'page.tsx'),
    [
      'export const inElement = <p class="soft">Some words</p>;',
      'export const besideOthers = <p>{1} words</p>;',
      'export const placeholder = <input placeholder="https://" name="url" type="url" />;',
      'export const title = <b title="Words">{1}</b>;',
      'export const label = <b aria-label="Words">{1}</b>;',
      'export const none = <p id="words"><b>×</b>{1}, {2}{" "}<bdi>{title}</bdi></p>;',
    ].join('\n'),
  );

  t.deepEqual(
    literalsIn(t, pages)
      .map((line) => Number(line.split(':')[1]))
      .toSorted((one, other) => one - other),
    [1, 2, 3, 4, 5],
  );
});
