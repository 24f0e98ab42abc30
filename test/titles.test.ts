/**
 * Titles of tests are read in lists, beside the name of their file: one sentence each, which fits a line. A failure
 * here is a title to shorten, or a test to take apart.
 */
import test from 'ava';
import { trackedFiles, type SourceFile } from './support/source/source-text.ts';

const TITLE_CHARACTERS_MAX = 115;

/** A text and a function of `t`: as tests are declared by `test`, `test.serial`, `withSsh`, `declare` and the like. */
const DECLARATION =
  /\(\s*(?<title>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}]|\{[^{}]*\})*\})*`),\s*(?:async )?\(t\b/gu;

/** Titles of a file as they are written, without what is filled in when the tests are declared. */
function titlesOf({ text }: SourceFile): readonly string[] {
  return [...text.matchAll(DECLARATION)].map(({ groups }) =>
    (groups?.['title'] ?? '')
      .slice(1, -1)
      .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/gu, '')
      .replaceAll(/\\(.)/gu, '$1'),
  );
}

const isLong = (title: string): boolean => title.length > TITLE_CHARACTERS_MAX;

const files = trackedFiles().filter(({ path }) => /^test\/.*\.ts$/u.test(path));

test(`no title of a test has more than ${TITLE_CHARACTERS_MAX} characters`, (t) => {
  t.deepEqual(
    files.flatMap((file) =>
      titlesOf(file)
        .filter(isLong)
        .map((title) => `${file.path}: ${title}`),
    ),
    [],
  );
  t.true(files.flatMap(titlesOf).length > 4_000, 'they are found');
});

test('titles are found however a test is declared', (t) => {
  const [fits, long] = ['x'.repeat(TITLE_CHARACTERS_MAX), 'x'.repeat(TITLE_CHARACTERS_MAX + 1)];
  const found = (text: string): readonly boolean[] => titlesOf({ path: 'test/a.test.ts', text }).map(isLong);

  t.deepEqual(
    [
      `test('${long}', (t) => {`,
      `test.serial("${long}", async (t) => {`,
      `withSsh.serial(\n  \`${long}\`,\n  async (t) => {`,
      `  test(\`\${kind === '' ? \`\${a}\` : { a: '\`' }.a}${long}\`, async (t: ExecutionContext) => {`,
      `test('${fits}', (t) => {\n});\ntest('${long}', (t) => {\n});`,
      `test('it\\'s ${fits.slice(5)}', (t) => {`,
      `test(\`\${'${long}'} ends\`, (t) => {`,
      `until('${long}', async () => `,
      `t.is(said, '${long}');`,
    ].map(found),
    [[true], [true], [true], [true], [false, true], [false], [false], [], []],
  );
});
