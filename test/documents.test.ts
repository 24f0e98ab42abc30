/** Pages and comments lead somewhere: what they name is there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import packageFile from '../package.json' with { type: 'json' };
import { knownCommands } from '../deploy/pages/commands.ts';
import { promiseNames } from '../deploy/pages/promise-tests.ts';
import {
  anchorsOf,
  citationsElsewhere,
  codeNames,
  deadLinks,
  deadPaths,
  goneCommands,
  goneSettings,
  unknownPromises,
} from './support/source/documents.ts';
import { ROOT, trackedFiles, type SourceFile } from './support/source/source-text.ts';

/** What tells of how it was: it may name what is gone. */
const HISTORY = ['CHANGELOG.md', 'package-lock.json', 'test/durations.json'];

/** Names things that are not there, to show that they are found. */
const OWN = ['test/documents.test.ts', 'test/support/source/documents.ts'];

/** Names on pages that are others': of systems and libraries, of the tests, and places to fill in. */
const OTHERS_NAMES = [
  'NODE_USE_SYSTEM_CA',
  'CONNECT_ERROR',
  'SO_BINDTODEVICE',
  'SO_REUSEPORT',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_COMPRESSION',
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'EDGE_TEST_KEEP_DURATIONS',
  'EDGE_TEST_KEEP_PICTURES',
  'EDGE_TEST_KEEP_WALKS',
  'EDGE_TEST_KEEP_WRONG_INPUTS',
  'EDGE_TEST_NETMAKER_URL',
  'EDGE_TEST_NETMAKER_KEY',
  'RETRIED_TESTS_MAX',
  'TRACE_ID',
  'AGENT_ALIAS', // a name that is misspelt
];

const all = trackedFiles().filter(({ path }) => !HISTORY.includes(path) && !OWN.includes(path));
const pages = all.filter(({ path }) => path.endsWith('.md'));
const code = all.filter(({ path }) => /\.(?:ts|js|sh|h|c|yml)$/u.test(path));
const shipped = code.filter(({ path }) => !path.startsWith('test/') || path.startsWith('test/chaos/'));

const exists = (path: string) => existsSync(join(ROOT, path));

/** Words in capitals that code holds. */
const wordsOf = (text: string) => new Set(text.match(/[A-Z][A-Z0-9_]+/gu));

test('every link and every citation of a page leads to it, and to its section', (t) => {
  t.deepEqual(
    [...pages, ...code].flatMap((file) => deadLinks(file, pages, exists)),
    [],
  );
});

test('nothing cites what is not in the repository', (t) => {
  t.deepEqual([...pages, ...code].flatMap(citationsElsewhere), []);
});

test('every promise that is cited stands on the page of promises', (t) => {
  const known = new Set(promiseNames(pages.find(({ path }) => path === 'docs/promises.md')?.text ?? ''));

  t.deepEqual(
    [...pages, ...code].flatMap((file) => unknownPromises(file, known)),
    [],
  );
});

test('every setting and constant that a page names is one of the code', (t) => {
  const known = wordsOf([...shipped.map((file) => file.text), ...OTHERS_NAMES].join('\n'));

  t.deepEqual(
    pages.flatMap((page) => goneSettings(page, known)),
    [],
  );
});

test('every command that a page names exists, and takes the options that it names', (t) => {
  const known = knownCommands();

  t.deepEqual(
    pages.flatMap((page) => goneCommands(page, known)),
    [],
  );
});

test('every path of the code that a page or a comment names leads to it', (t) => {
  const names = codeNames(trackedFiles().map(({ path }) => path));

  t.deepEqual(
    [...pages, ...code].flatMap((file) => deadPaths(file, names, exists)),
    [],
  );
});

test('every npm script that a page names exists', (t) => {
  const named = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/npm run (?<script>[a-z:]+)/gu)].map((match) => ({
      path,
      script: match.groups?.['script'] ?? '',
    })),
  );

  t.deepEqual(
    named.filter(({ script }) => !(script in packageFile.scripts)),
    [],
  );
});

test('the README leads into the documentation, and that to every page of it', (t) => {
  const contents = pages.find(({ path }) => path === 'docs/README.md')?.text ?? '';
  const others = pages.filter(({ path }) => /^docs\/[\w-]+\.md$/u.test(path) && path !== 'docs/README.md');

  t.regex(pages.find(({ path }) => path === 'README.md')?.text ?? '', /\]\(docs\/README\.md\)/u);
  t.deepEqual(
    others.map(({ path }) => path.slice('docs/'.length)).filter((name) => !contents.includes(`](${name})`)),
    [],
  );
});

test('the page of the architecture leads to every page below it', (t) => {
  const [top, below] = ['docs/architecture.md', 'docs/architecture/'];
  const contents = pages.find(({ path }) => path === top)?.text ?? '';

  t.deepEqual(
    pages
      .filter(({ path }) => path.startsWith(below))
      .map(({ path }) => path.slice('docs/'.length))
      .filter((name) => !contents.includes(`](${name})`)),
    [],
  );
});

test('the README has at most 10 KB', (t) => {
  t.true(Buffer.byteLength(pages.find(({ path }) => path === 'README.md')?.text ?? '') <= 10_000);
});

test('the README names every folder, and tables of the architecture name folders that are there', (t) => {
  const readme = pages.find(({ path }) => path === 'README.md')?.text ?? '';
  const folders = new Set(all.flatMap(({ path }) => path.split('/').slice(0, -1)));
  const top = new Set(all.filter(({ path }) => /^\w+\//u.test(path)).map(({ path }) => path.split('/', 1)[0]));
  const cells = pages
    .filter(({ path }) => path.startsWith('docs/architecture'))
    .flatMap(({ text }) =>
      [...text.matchAll(/^\| `(?<name>[\w-]+)\/`/gmu)].map(({ groups }) => groups?.['name'] ?? ''),
    );

  t.deepEqual(
    [...top].filter((name) => !readme.includes(`\`${name}/\``)),
    [],
  );
  t.true(cells.length > 10);
  t.deepEqual(
    cells.filter((name) => !folders.has(name)),
    [],
  );
});

test('every page for users says what can go wrong', (t) => {
  const others = ['README', 'architecture', 'next', 'performance', 'runbooks'].map((name) => `docs/${name}.md`);
  const users = pages.filter(({ path }) => /^docs\/[\w-]+\.md$/u.test(path) && !others.includes(path));

  t.true(users.length > 20);
  t.deepEqual(
    users.filter(({ text }) => !/^## What can go wrong$/mu.test(text)).map(({ path }) => path),
    [],
  );
});

test('the checks see what they look for', (t) => {
  const page: SourceFile = {
    path: 'docs/a.md',
    text: '# One: `two`\n\n## Again\n\n## Again\n\n```sh\n# no heading\n```\n',
  };
  const bad: SourceFile = {
    path: 'docs/b.md',
    text: '[x](a.md) [x](a.md#again-1) [x](a.md#no) [x](#none) [x](../gone.ts) https://x.y/z.md other.md and docs/a.md',
  };
  const there = (path: string) => ['docs/a.md', 'docs/b.md'].includes(path);
  const source = (text: string): SourceFile => ({ path: 'x.ts', text });

  t.deepEqual(anchorsOf(page.text), ['one-two', 'again', 'again-1']);
  t.deepEqual(deadLinks(bad, [page, bad], there), [
    'docs/b.md → a.md#no',
    'docs/b.md → #none',
    'docs/b.md → ../gone.ts',
    'docs/b.md → other.md',
  ]);
  t.deepEqual(
    deadLinks(source('// docs/a.md, Again; docs/a.md, Never\n/** a.md, docs/a.md,\n * Lost */'), [page], there),
    ['x.ts → a.md', 'x.ts → docs/a.md, Never', 'x.ts → docs/a.md, Lost'],
  );
  t.deepEqual(
    citationsElsewhere(
      source('// Source: the issue, "Speed"; issue 4; the spec; the issue was; Source: spec; a (spec)'),
    ),
    ['x.ts: Source: the issue', 'x.ts: issue 4', 'x.ts: the spec', 'x.ts: Source: spec', 'x.ts: (spec)'],
  );
  t.deepEqual(unknownPromises(source('// C1, V8, L9, %C3%A9'), new Set(['C1'])), ['x.ts: L9']);
  t.deepEqual(goneSettings(source('`A_KEY`, A_KEY_FILE, A_K_, A_K, B_KEY'), new Set(['A_KEY', 'A_K_MAX'])), [
    'x.ts: A_K',
    'x.ts: B_KEY',
  ]);
  t.deepEqual(
    goneCommands(
      source(
        '`edge node ls --json`, `edge nod ls`, edge prose, `edge ssh web --any`, `edge-updater nonsense`\n' +
          '```\n$ edge-agent down\nedge node lst\nedge run --all -- x --y\nedge run --al x\nsudo edge-updater update --forse\n```',
      ),
      knownCommands(),
    ),
    [
      'x.ts: edge node ls --json',
      'x.ts: edge nod',
      'x.ts: edge-updater nonsense',
      'x.ts: edge-agent down',
      'x.ts: edge node lst',
      'x.ts: edge run --al',
      'x.ts: edge-updater update --forse',
    ],
  );
  t.deepEqual(
    deadPaths(
      source('// agent/here.ts, agent/gone, agent/here, here.ts, gone.ts, agent/v<N>\nimport "agent/never.ts"'),
      codeNames(['agent/here.ts']),
      (path) => path === 'agent/here.ts',
    ),
    ['x.ts: agent/gone', 'x.ts: gone.ts'],
  );
});
