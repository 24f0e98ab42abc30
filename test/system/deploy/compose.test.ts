/** The files for Docker Compose name settings, secrets and files that there are. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { AGENT_SETTINGS } from '../../../agent/config.ts';
import { ADMIN_SETTINGS } from '../../../settings/admin.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const COMPOSE = join(ROOT, 'deploy/compose');
const run = promisify(execFile);

const textOf = (name: string): string => readFileSync(join(COMPOSE, name), 'utf8');

/** The lines of one service. */
function serviceIn(text: string, name: string): string {
  return new RegExp(`^  ${name}:\\n(?<lines>(?: {4}.*\\n|\\n)+)`, 'mu').exec(text)?.groups?.['lines'] ?? '';
}

/** Variables that a service is given. */
function variablesOf(service: string): string[] {
  const environment = /^ {4}environment:\n(?<lines>(?: {6}.*\n)+)/mu.exec(service)?.groups?.['lines'] ?? '';
  return [...environment.matchAll(/^ {6}(?<name>[A-Z_]+):/gmu)].map(({ groups }) => groups?.['name'] ?? '');
}

/** Secrets of a file, by what is used and what is declared. */
function secretsOf(text: string) {
  const used = [...text.matchAll(/\/run\/secrets\/(?<name>[a-z-]+)/gu)].map(({ groups }) => groups?.['name'] ?? '');
  const declared = [...text.matchAll(/^ {2}(?<name>[a-z-]+): \{ file: \.\/secrets\/\k<name> \}$/gmu)].map(
    ({ groups }) => groups?.['name'] ?? '',
  );
  return { used: [...new Set(used)].toSorted(), declared: declared.toSorted() };
}

test('what the admin and the agent are given are settings of theirs', (t) => {
  for (const [file, service, settings] of [
    ['compose.yml', 'admin', ADMIN_SETTINGS],
    ['agent.yml', 'agent', AGENT_SETTINGS],
  ] as const) {
    const names = variablesOf(serviceIn(textOf(file), service));
    t.true(names.length >= 4, file);
    t.deepEqual(
      names.filter((name) => !(name.replace(/_FILE$/u, '') in settings) && !(name in settings)),
      [],
    );
  }
});

test('secrets that are read are declared, and made by the script but for those that come from elsewhere', async (t) => {
  const directory = temporaryDirectory(t);
  await cp(COMPOSE, directory, { recursive: true });
  await run('sh', [join(directory, 'secrets.sh')]);
  const made = readdirSync(join(directory, 'secrets')).toSorted();
  const key = await readFile(join(directory, 'secrets/master-key'), 'utf8');
  await run('sh', [join(directory, 'secrets.sh')]);

  for (const file of ['compose.yml', 'agent.yml']) {
    const { used, declared } = secretsOf(textOf(file));
    t.deepEqual(
      used.filter((name) => !declared.includes(name)),
      [],
      file,
    );
  }
  t.deepEqual(made, secretsOf(textOf('compose.yml')).declared);
  t.is(await readFile(join(directory, 'secrets/master-key'), 'utf8'), key, 'a second run changes nothing');
  t.is((await stat(join(directory, 'secrets'))).mode & 0o077, 0);
});

test('files that are mounted are there', (t) => {
  const mounted = ['compose.yml', 'agent.yml'].flatMap((file) =>
    [...textOf(file).matchAll(/^ {6}- (?<path>\.{1,2}\/[^:]+):/gmu)].map(({ groups }) => groups?.['path'] ?? ''),
  );

  t.true(mounted.length >= 6);
  t.deepEqual(
    mounted.filter((path) => !existsSync(join(COMPOSE, path))),
    [],
  );
});

test('Prometheus is set up as deploy/prometheus says, but for where things are', (t) => {
  const body = (text: string): string => text.slice(text.indexOf('global:'));
  const original = readFileSync(join(ROOT, 'deploy/prometheus/prometheus.yml'), 'utf8')
    .replaceAll('127.0.0.1:44000', 'admin:44000')
    .replaceAll('credentials_file: metrics-key', 'credentials_file: /run/secrets/metrics-key');

  t.is(body(textOf('prometheus.yml')), body(original));
});
