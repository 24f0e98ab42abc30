/** The published client: built, packed and installed, then used by programs that have nothing else of this project. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { EVENTS_TS, FLEET_TS, RECEIVER_TS } from '../../../api/docs/guide/examples/typescript.ts';
import { buildClient, CLIENT_EXPORTS, CLIENT_PACKAGE } from '../../../deploy/client.ts';
import { FLEET_KEYS, startFleet } from '../../support/fleet.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { until } from '../../support/until.ts';
import { CALLS, PROGRAM, ROUTER, sameTypes } from './client-programs.ts';

const run = promisify(execFile);

/** A package that anybody fetches for every build of theirs, in bytes. */
const PACKED_BYTES_MAX = 150_000;

const home = mkdtempSync(join(tmpdir(), 'edge-test-client-'));
const installed = join(home, 'node_modules', CLIENT_PACKAGE);
let packed: { readonly filename: string; readonly size: number; readonly files: readonly { readonly path: string }[] };

test.before('it is built, packed and installed', async () => {
  await buildClient(join(home, 'client'));
  const env = {
    ...process.env,
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    npm_config_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  };
  const { stdout } = await run('npm', ['pack', './client', '--json', '--silent'], { cwd: home, env });
  [packed] = JSON.parse(stdout) as [typeof packed];
  await run('npm', ['install', `./${packed.filename}`, '--prefix', home], { cwd: home, env });
});

test.after.always(() => {
  rmSync(home, { recursive: true, force: true });
});

test('the package is small and has no code but its own, no dependency, and every file that it names', (t) => {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Readonly<
    Record<string, unknown>
  >;
  const code = ['client.js', 'webhooks.js'].map((file) => readFileSync(join(installed, file), 'utf8')).join('\n');
  const declared = packed.files
    .filter(({ path }) => path.endsWith('.d.ts') && path !== 'router.d.ts')
    .map(({ path }) => readFileSync(join(installed, path), 'utf8'))
    .join('\n');

  t.true(packed.size < PACKED_BYTES_MAX, String(packed.size));
  t.is(manifest['dependencies'], undefined);
  t.deepEqual(
    packed.files.map(({ path }) => path).toSorted(),
    [
      ...new Set([
        ...Object.values(CLIENT_EXPORTS).flatMap((files) => Object.values(files).map((file) => file.slice(2))),
        'LICENSE',
        'README.md',
        'THIRD-PARTY-LICENSES.txt',
        'package.json',
      ]),
    ].toSorted(),
  );
  t.deepEqual(
    [...code.matchAll(/\b(?:from|import) ?\(?"(?<from>[^"]+)"/gu)].map(({ groups }) => groups?.['from']),
    ['node:crypto'],
  );
  t.deepEqual(
    [...new Set([...declared.matchAll(/from '(?<from>[^']+)'/gu)].map(({ groups }) => groups?.['from']))],
    ['./api.js'],
  );
  t.notRegex(code + declared, /fastify|MikroORM|zod/u);
});

test('a program that uses every module compiles, and what is wrong in it does not', async (t) => {
  const problems = await typeProblems('calls', CALLS, {
    lib: ['ES2024', 'DOM', 'DOM.Iterable'],
    types: [],
    skipLibCheck: false,
  });

  t.is(problems, '');
});

test('a tRPC client of somebody else takes the type of the router', async (t) => {
  t.is(await typeProblems('router', ROUTER, { lib: ['ES2024', 'DOM', 'DOM.Iterable'], types: [] }), '');
});

test('what the guide and the README of the package show compiles as it stands', async (t) => {
  const readme = readFileSync(join(installed, 'README.md'), 'utf8');
  const shown = [...readme.matchAll(/```ts\n(?<code>.*?)```/gsu)].map(({ groups }) => `${GIVEN}\n${groups?.['code']}`);

  t.is(shown.length, 3);
  for (const [index, source] of [FLEET_TS, EVENTS_TS, RECEIVER_TS, ...shown].entries())
    t.is(await typeProblems(`shown-${index}`, source, { lib: ['ES2024'], types: ['node'] }), '', source);
});

/** What the pieces of the README take for given. */
const GIVEN = 'declare const url: string, key: string | null, secret: string;';

test('the types of the package are those of the service', async (t) => {
  const options = { lib: ['ES2024', 'ESNext.Disposable'], types: ['node'], allowImportingTsExtensions: true };

  t.is(await typeProblems('same', sameTypes(ROOT.endsWith('/') ? ROOT : `${ROOT}/`), options), '');
});

test('a program reads, runs, is refused in words, and follows what happens over a restart of the admin', async (t) => {
  const fleet = await startFleet(t, { agents: 1 });
  const admin = fleet.admin();
  const program = start(t, { EDGE_URL: admin.url, EDGE_API_KEY: FLEET_KEYS.API_KEY });
  const said = (what: string): readonly unknown[] =>
    program.lines().flatMap(([name, value]) => (name === what ? [value] : []));
  const event = () => fleet.rest.post('/events/test', undefined);

  await until('the feed of events', () => said('started').length > 0);
  t.deepEqual(said('nodes'), [['healthy']]);
  t.deepEqual(said('output'), ['it runs\n']);
  t.like(said('missing')[0], { code: 'not_found', message: 'Resource not found', details: null });
  t.like(said('wrong')[0], { code: 'validation_failed' });
  t.deepEqual(Object.keys((said('wrong')[0] as { readonly details: object }).details), ['name']);
  t.like(said('unauthorized')[0], { code: 'unauthorized' });
  t.deepEqual(said('nowhere'), [null]);

  await event();
  await until('the first event', () => said('event').length === 1);
  await admin.kill();
  await until('the loss of the connection', () => said('lost').length > 0);
  await admin.start();
  await event();

  await until('the second event', () => said('event').length === 2);
  t.deepEqual(said('twice'), []);
  t.deepEqual(said('failed'), []);
  program.end();
  t.is(await program.ended, 0);
});

/** What tsc says of a file beside the installed package; empty: all is well. */
async function typeProblems(name: string, source: string, options: object): Promise<string> {
  const directory = join(home, name);
  mkdirSync(join(directory, 'node_modules/@edge-fleet-control'), { recursive: true });
  symlinkSync(installed, join(directory, 'node_modules', CLIENT_PACKAGE));
  for (const other of ['@trpc', '@types', 'openapi-fetch', 'openapi-typescript-helpers'])
    symlinkSync(join(ROOT, 'node_modules', other), join(directory, 'node_modules', other));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(join(directory, `${name}.ts`), source);
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        module: 'NodeNext',
        target: 'ES2024',
        strict: true,
        noEmit: true,
        erasableSyntaxOnly: true,
        exactOptionalPropertyTypes: false,
        preserveSymlinks: name !== 'same',
        skipLibCheck: true,
        resolveJsonModule: true,
        ...options,
      },
      files: [`${name}.ts`],
    }),
  );
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
  const { stdout } = await run(process.execPath, [tsc, '-p', directory], { cwd: directory }).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  return stdout;
}

/** The program in a process of its own, and the lines that it says. */
function start(t: { teardown(end: () => void): void }, env: Readonly<Record<string, string>>) {
  const file = join(home, 'program.mjs');
  writeFileSync(file, PROGRAM);
  const child = spawn(process.execPath, [file], { env, cwd: home, stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return {
    lines: () => output.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as [string, unknown]])),
    end: () => child.stdin.end(),
    ended: new Promise<number | null>((resolve) => {
      child.on('exit', resolve);
    }),
  };
}
