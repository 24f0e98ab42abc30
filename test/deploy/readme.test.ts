import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { README, withTables } from '../../deploy/readme.ts';
import packageFile from '../../package.json' with { type: 'json' };
import { ROOT, trackedFiles } from '../support/source-text.ts';

const text = readFileSync(README, 'utf8');

test('the settings and limits in the README are those of the code (node deploy/readme.ts writes them)', (t) => {
  t.is(withTables(text), text);
});

test('a README without a region is told which one it lacks', (t) => {
  t.throws(() => withTables(text.replace('<!-- end: limits -->', '')), { message: /no region "limits"/u });
});

test('every relative link in the documentation leads to a file', (t) => {
  const pages = trackedFiles().filter(({ path }) => path.endsWith('.md'));
  const dead = pages.flatMap(({ path, text: page }) =>
    [...page.matchAll(/\]\((?!https?:|#)(?<target>[^)#\s]+)/gu)]
      .map((match) => join(path, '..', match.groups?.['target'] ?? ''))
      .filter((target) => !existsSync(join(ROOT, target)))
      .map((target) => `${path} → ${target}`),
  );

  t.deepEqual(dead, []);
});

test('every npm script that the documentation names exists', (t) => {
  const named = trackedFiles()
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text: page }) =>
      [...page.matchAll(/npm run (?<script>[a-z]+)/gu)].map((match) => ({
        path,
        script: match.groups?.['script'] ?? '',
      })),
    );

  t.deepEqual(
    named.filter(({ script }) => !(script in packageFile.scripts)),
    [],
  );
});
