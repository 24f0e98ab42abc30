/** `test/unit` mirrors the code: whoever knows where a file is knows where its tests are. */
import { posix } from 'node:path';
import test from 'ava';
import { importsOf, trackedFiles, type SourceFile } from './support/source/source-text.ts';
import { TOGETHER_DIRECTORY } from './support/run/together.ts';

const UNIT = 'test/unit/';

/** Folders that stand for no folder of the code: processes that load others, and models over several of its files. */
const OWN_FOLDERS = [TOGETHER_DIRECTORY, `${UNIT}actors/model`];

/** What each of them is about is reached over HTTP, where nobody imports it. */
const OVER_HTTP = [`${UNIT}api/internal/mount.test.ts`, `${UNIT}api/internal/peer-calls.test.ts`];

const sources = trackedFiles().filter(({ path }) => /\.tsx?$/u.test(path));

/** The folder of the code for which one of test/unit stands. */
const mirrored = (path: string): string => posix.dirname(path).slice(UNIT.length);

function isMirroring({ path }: SourceFile): boolean {
  return path.startsWith(UNIT) && !OWN_FOLDERS.includes(posix.dirname(path));
}

/** Folders of test/unit with no such folder in the code. */
function folderless(files: readonly SourceFile[]): readonly string[] {
  const folders = new Set(files.filter(isMirroring).map(({ path }) => mirrored(path)));
  return [...folders].filter((folder) => !files.some(({ path }) => path.startsWith(`${folder}/`)));
}

/** Tests that reach nothing of their folder, neither by imports, their fixtures' included, nor by its path. */
function astray(files: readonly SourceFile[]): readonly string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return files
    .filter((file) => isMirroring(file) && file.path.endsWith('.test.ts'))
    .filter(({ path, text }) => {
      const reached = new Set([path]);
      for (const one of reached) {
        const file = byPath.get(one);
        if (file === undefined || !one.startsWith('test/')) continue;
        for (const { target, isOwn } of importsOf(file)) if (isOwn) reached.add(target);
      }
      const beginning = `${mirrored(path)}/`;
      const isNamed = ["'", '../'].some((before) => text.includes(`${before}${beginning}`));
      return !isNamed && ![...reached].some((one) => one.startsWith(beginning));
    })
    .map(({ path }) => path);
}

/** Tests that are called as a file that they import from a folder below the one that they stand for. */
function tooHigh(files: readonly SourceFile[]): readonly string[] {
  const paths = new Set(files.map(({ path }) => path));
  return files
    .filter((file) => isMirroring(file) && file.path.endsWith('.test.ts'))
    .flatMap((file) => {
      const [folder, name] = [mirrored(file.path), posix.basename(file.path, '.test.ts')];
      if (paths.has(`${folder}/${name}.ts`) || paths.has(`${folder}/${name}.tsx`)) return [];
      const named = importsOf(file).filter(
        ({ target }) => target.startsWith(`${folder}/`) && posix.basename(target).replace(/\.tsx?$/u, '') === name,
      );
      return named.map(({ target }) => `${file.path} is about ${target}`);
    });
}

test('every folder of unit tests is a folder of the code', (t) => {
  t.deepEqual(folderless(sources), []);
});

test('every unit test is about the folder that it stands for', (t) => {
  t.deepEqual(astray(sources).toSorted(), OVER_HTTP.toSorted());
});

test('a unit test that is named after a file stands in the folder of that file', (t) => {
  t.deepEqual(tooHigh(sources), []);
});

test('the checks see what they look for', (t) => {
  const imports = (path: string) => `import { x } from '${path}';`;
  const files = [
    { path: 'actors/node/status.ts', text: '' },
    { path: 'api/call.ts', text: '' },
    { path: 'test/support/called.ts', text: imports('../../api/call.ts') },
    { path: 'test/unit/actors/status.test.ts', text: imports('../../../actors/node/status.ts') },
    { path: 'test/unit/actors/node/status.test.ts', text: imports('../../../../actors/node/status.ts') },
    { path: 'test/unit/api/call.test.ts', text: imports('../../support/called.ts') },
    { path: 'test/unit/api/loaded.test.ts', text: "await import(join(ROOT, '../api/call.ts'))" },
    { path: 'test/unit/api/other.test.ts', text: imports('../../../actors/node/status.ts') },
    { path: 'test/unit/network/other.test.ts', text: imports('../../../api/call.ts') },
  ];

  t.deepEqual(folderless(files), ['network']);
  t.deepEqual(astray(files), ['test/unit/api/other.test.ts', 'test/unit/network/other.test.ts']);
  t.deepEqual(tooHigh(files), ['test/unit/actors/status.test.ts is about actors/node/status.ts']);
});
