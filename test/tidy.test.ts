/** The shape of the code base. A failure here is a decision to take, not a line to add: see docs/architecture.md. */
import test from 'ava';
import packageFile from '../package.json' with { type: 'json' };
import { DEVELOPMENT_PARTS, PACKAGE_PARTS, PURE_PARTS } from './support/source/package-rules.ts';
import {
  cyclesIn,
  importsOf,
  packageOf,
  trackedFiles,
  undocumentedExports,
  withoutLiterals,
  type Import,
  type SourceFile,
} from './support/source/source-text.ts';

/**
 * What a part may import, by the beginnings of paths. A part may always import itself. Types are erased, so some may
 * cross where values may not.
 */
interface Rule {
  readonly values: readonly string[];
  readonly types?: readonly string[];
}

const WIRE = 'transport/protocol/';
const NET = 'transport/net/';
const [ADDRESSES, STREAMS] = [`${NET}addresses.ts`, `${NET}streams/`] as const;
const PURE_NET = [ADDRESSES, ...['token-bucket.ts', 'endpoints.ts', 'log.ts'].map((file) => `${NET}${file}`)];
const PROXIES = 'transport/proxies/';
const VPN = ['wireguard', 'relay-map', 'derp'].map((of) => `transport/vpn/${of}/`);
const MEMBER = 'transport/vpn/member/';
const CLIENT = 'api/client/';
const RELEASE_REPOSITORY = 'transport/releases/repository/';
const PURE_FOR_CLI = [WIRE, ADDRESSES, STREAMS, 'actors/version-order.ts', 'agent/execution/journal/journal-schema.ts'];
const EVERYTHING = [''];

/**
 * What a part needs of the others, as interfaces that stand with it. Whoever implements one may name its type, so that
 * a port is written once and the type checker says at the implementation, not in main.ts, that it is not one.
 */
const PORTS = [
  ...['', 'console/', 'terminal/', 'feeds/', 'forwarding/', 'admin-', 'release-', 'node-'].map(
    (of) => `api/${of}ports.ts`,
  ),
  ...['ports.ts', 'sweep-port.ts'].map((file) => `supervisors/${file}`),
  ...['diagnoses', 'releases'].map((of) => `transport/${of}/ports.ts`),
];

/**
 * Who may import whom. The longest beginning that fits a file is its part. The siblings never import each other:
 * main.ts joins them.
 */
const PARTS: Readonly<Record<string, Rule>> = {
  // What an address is, and so whether other machines connect there, is said once, for every program.
  'settings/': { values: [WIRE, ADDRESSES], types: ['transport/events/brokers/settings.ts'] },
  [WIRE]: { values: [] },
  // A leaf that both sides use: streams, who may be dialled, SSH, metrics as text, clocks, the log.
  [NET]: { values: [] },
  // Pure code that both need is said once: what a node may cost is a bucket in its state, and what an address is.
  'actors/': { values: [WIRE, ...PURE_NET] },
  'supervisors/': { values: ['actors/', WIRE, NET] },
  'persistence/': { values: ['actors/', WIRE, NET, 'settings/database-url.ts'], types: [...PORTS, RELEASE_REPOSITORY] },
  // The wire of proxies, which both sides serve.
  [PROXIES]: { values: [NET] },
  // A member of a VPN, which agents and gateways are: the interface, the protocol of relays, and paths over both.
  // What a key and an address are is said once, by the wire (R4).
  'transport/vpn/wireguard/': { values: ['transport/protocol/wireguard.ts', `${NET}execute.ts`] },
  'transport/vpn/relay-map/': { values: [NET] },
  'transport/vpn/derp/': { values: [NET, 'transport/vpn/relay-map/'] },
  // Whether metadata of releases may be believed: asked by whoever makes it, keeps it, and installs by it.
  [RELEASE_REPOSITORY]: { values: [WIRE] },
  [MEMBER]: { values: [WIRE, NET, ...VPN] },
  'transport/': { values: ['actors/', WIRE, NET, PROXIES, ...VPN, MEMBER, RELEASE_REPOSITORY], types: PORTS },
  'api/': { values: ['actors/', WIRE, NET] },
  // The published client: what it knows of the service are types.
  [CLIENT]: { values: [], types: ['api/', 'actors/'] },
  'agent/': { values: [WIRE, NET, PROXIES, ...VPN, MEMBER, RELEASE_REPOSITORY, 'settings/'] },
  'cli/': {
    values: [...PURE_FOR_CLI, `${NET}ssh/`, CLIENT, RELEASE_REPOSITORY, 'settings/', 'package.json'],
    types: ['api/', 'actors/ports.ts', `${NET}log.ts`],
  },
  'cli/relay.ts': { values: ['cli/', 'transport/vpn/relay/', NET, 'settings/'] },
  'cli/edge-admin.ts': {
    // The key that opens an admin is made before its settings are whole.
    values: [
      'cli/',
      'cli/relay.ts',
      'main.ts',
      'persistence/backup/',
      'persistence/connections/command-database.ts',
      'persistence/releases/forget.ts',
      'persistence/embedded/master-key.ts',
      'persistence/embedded/encryption-key.ts',
      NET,
      'settings/',
      'package.json',
    ],
    types: ['actors/ports.ts'],
  },
  'cli/demo': { values: ['cli/', 'persistence/embedded/launcher.ts', NET] },
  'cli/edge-agent.ts': { values: ['cli/', 'agent/', WIRE, 'settings/', 'package.json'] },
  'cli/edge-updater.ts': { values: ['cli/', 'agent/', WIRE, 'settings/', 'package.json'] },
  // It runs in browsers, and knows of the service what its client knows.
  'console/': { values: [CLIENT], types: ['api/', 'actors/'] },
  'main.ts': { values: EVERYTHING },
  'bench/': { values: EVERYTHING },
  'deploy/': { values: EVERYTHING },
  'test/': { values: EVERYTHING },
};

/** Parts whose exports carry their description as a field (an operation's summary), or are named by their time. */
const SELF_DESCRIBING_PARTS = ['api/operations/', 'persistence/migrations/'];

/** A file is read in one go, and the order in which an admin starts on two screens. */
const LINES_MAX = 300;
const MAIN_LINES = 150;
/** As the formatter has it. */
const COLUMNS_MAX = 120;

/** Names that say nothing about what a file is. */
const EMPTY_NAME = /(?:^|[/-])(?:utils?|helpers?|commons?|managers?|misc|stuff)(?:[./-]|$)/u;

/** Files are kebab-case nouns; MikroORM's migrations carry their time. */
const FILE_NAME = /(?:^|\/)(?:[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test)?|Migration\d{14}_[a-z_]+)\.tsx?$/u;

/** `any` where a type stands. */
const ANY = /(?:[:<,|&(=]|\bas|\bextends|\bsatisfies)\s*any\b(?!\s*\()/u;

/** Beginnings of paths that exist on one machine only. Written in pieces, so that this file does not name them. */
const MACHINE_PATHS = [['', 'work', ''].join('/'), ['', 'Users', ''].join('/')];

const all = trackedFiles();
const sources = all.filter((file) => /\.tsx?$/u.test(file.path));

/** What breaks the table, one line each. */
function breaches(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const part = partOf(file.path);
    const rule = part === undefined ? undefined : PARTS[part];
    if (part === undefined || rule === undefined) return [`${file.path} belongs to no part of the table`];
    return importsOf(file)
      .filter((entry) => !isAllowed(entry, part, rule))
      .map((entry) => `${file.path} imports ${entry.target}`);
  });
}

function partOf(path: string): string | undefined {
  return Object.keys(PARTS)
    .filter((part) => path.startsWith(part))
    .toSorted((a, b) => b.length - a.length)[0];
}

function isAllowed(entry: Import, part: string, rule: Rule): boolean {
  if (!entry.isOwn) return isPackageAllowed(packageOf(entry), part, entry.from);
  const allowed = entry.isTypeOnly ? [...rule.values, ...(rule.types ?? [])] : rule.values;
  return (
    partOf(entry.target) === part ||
    allowed.some(
      (beginning) => entry.target.startsWith(beginning) && !(beginning === 'cli/' && partOf(entry.target) !== 'cli/'),
    )
  );
}

function isPackageAllowed(name: string | undefined, part: string, from: string): boolean {
  if (name === undefined) return true;
  const parts = PACKAGE_PARTS[name];
  if (parts) return parts.some((beginning) => from.startsWith(beginning));
  if (PURE_PARTS.includes(part)) return name === 'zod';
  const isShipped = name in packageFile.dependencies || name in packageFile.optionalDependencies;
  return isShipped || (DEVELOPMENT_PARTS.includes(part) && name in packageFile.devDependencies);
}

test('every file imports only what its part may', (t) => {
  t.deepEqual(breaches(sources), []);
});

test('no files import each other in a circle, for types neither', (t) => {
  t.deepEqual(cyclesIn(sources.flatMap(importsOf)), []);
});

test('no type is given up as any', (t) => {
  t.deepEqual(
    sources.filter((file) => ANY.test(withoutLiterals(file.text))).map((file) => file.path),
    [],
  );
});

test(`no file is longer than ${LINES_MAX} lines, and main.ts has fewer than ${MAIN_LINES}`, (t) => {
  const linesMax = (path: string): number => (path === 'main.ts' ? MAIN_LINES - 1 : LINES_MAX);

  t.deepEqual(
    sources.filter(({ path, text }) => text.split('\n').length - 1 > linesMax(path)).map((file) => file.path),
    [],
  );
});

test(`no comment has lines of more than ${COLUMNS_MAX} characters, which the formatter leaves as they are`, (t) => {
  const isLong = (line: string): boolean =>
    line.length > COLUMNS_MAX && /^\s*(?:\/?\*|\/\/)(?!.*(?:eslint-|https?:))/u.test(line);

  t.deepEqual(
    sources.filter(({ text }) => text.split('\n').some(isLong)).map(({ path }) => path),
    [],
  );
});

test('no file only passes others on', (t) => {
  t.deepEqual(
    sources
      .filter((file) => /(?:^|\/)index\.ts$/u.test(file.path) || /^export \* /mu.test(withoutLiterals(file.text)))
      .map((file) => file.path),
    [],
  );
});

test('every file name is a noun in kebab-case that says what is in it', (t) => {
  t.deepEqual(
    sources.filter((file) => EMPTY_NAME.test(file.path) || !FILE_NAME.test(file.path)).map((file) => file.path),
    [],
  );
});

test('every export says what it promises', (t) => {
  t.deepEqual(
    sources
      .filter((file) => !SELF_DESCRIBING_PARTS.some((part) => file.path.startsWith(part)))
      .flatMap(undocumentedExports),
    [],
  );
});

test('no file names a path of one machine', (t) => {
  t.deepEqual(
    all.filter((file) => MACHINE_PATHS.some((path) => file.text.includes(path))).map((file) => file.path),
    [],
  );
});

test('the checks see what they look for', (t) => {
  const files = [
    {
      path: 'actors/node/transition.ts',
      text: "import { x } from '../../persistence/x.ts';\nimport { start } from 'nact';\nimport { ok } from '../step.ts';",
    },
    { path: 'api/rest/routes.ts', text: "import type { Pool } from 'pg';\nexport { y } from '../../transport/y.ts';" },
    {
      path: 'cli/edge.ts',
      text: "import type { Router } from '../api/router.ts';\nimport { router, type Router as R } from '../api/router.ts';\nconst late = await import('../agent/run.ts');",
    },
    { path: 'agent/run.ts', text: "// import { z } from '../api/z.ts'\nimport fc from 'fast-check';" },
    {
      path: 'cli/example.ts',
      text: "/** A program. */\nconst text = `\nimport { x } from 'somewhere';\nexport const x = 1;\n`;",
    },
    { path: 'elsewhere/x.ts', text: '' },
  ];

  t.deepEqual(breaches(files), [
    'actors/node/transition.ts imports persistence/x.ts',
    'actors/node/transition.ts imports nact',
    'api/rest/routes.ts imports pg',
    'api/rest/routes.ts imports transport/y.ts',
    'cli/edge.ts imports api/router.ts',
    'cli/edge.ts imports agent/run.ts',
    'agent/run.ts imports fast-check',
    'elsewhere/x.ts belongs to no part of the table',
  ]);
  t.deepEqual(
    cyclesIn(
      importsOf({ path: 'a.ts', text: "import './b.ts';" }).concat(
        importsOf({ path: 'b.ts', text: "import { type A, b } from './a.ts';" }),
      ),
    ),
    [['a.ts', 'b.ts', 'a.ts']],
  );
  t.deepEqual(
    [
      'let a: any;',
      'x as any',
      'Map<string, any>',
      'any[] | (b: any)',
      "let any = 'x: any'; // : any",
      'Promise.any([])',
    ].map((code) => ANY.test(withoutLiterals(code))),
    [true, true, true, true, false, false],
  );
  t.deepEqual(
    undocumentedExports({
      path: 'a.ts',
      text: '/** Both. */\nexport const a = 1;\nexport const b = 2;\n\nexport type a = 1;\nexport function c() {}\nreturn `\nexport const d = 1;\n`;\nexport const e = 1;\n',
    }),
    ['a.ts:6 c', 'a.ts:10 e'],
  );
  t.deepEqual(
    ['api/utils.ts', 'api/node-helpers.ts', 'api/commons/x.ts', 'api/command.ts', 'api/Node.ts'].map(
      (path) => EMPTY_NAME.test(path) || !FILE_NAME.test(path),
    ),
    [true, true, true, false, true],
  );
});
