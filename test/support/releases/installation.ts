/** Our programs as users have them on their path: out of the package that is published, or out of a clone. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { onceARun } from '../run/once-a-run.ts';
import { buildDistribution } from './packages.ts';
import type { Scope } from '../scope.ts';
import { ROOT, trackedPaths } from '../source/source-text.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const run = promisify(execFile);

/** The directory of this Node, which programs of the package find on the path. */
const NODE_DIRECTORY = dirname(process.execPath);

/** A directory with `edge`, `edge-admin` and `edge-agent`. */
export interface Installation {
  readonly bin: string;
  /** For whoever runs them. */
  readonly path: string;
}

/** The package, where it was built, and where it is installed. */
export interface InstalledPackage extends Installation {
  readonly dist: string;
  readonly home: string;
}

function installation(bin: string): Installation {
  return { bin, path: `${bin}:${NODE_DIRECTORY}:${process.env['PATH'] ?? ''}` };
}

/**
 * Builds, packs and installs the package: not from a registry, so PostgreSQL's binaries are left out. Nobody may change
 * it.
 */
export async function installPackage(scope: Scope): Promise<InstalledPackage> {
  const dist = await buildDistribution(scope);
  const home = await onceARun(scope, 'installed', async (directory) => {
    const env = {
      ...process.env,
      PATH: `${NODE_DIRECTORY}:${process.env['PATH'] ?? ''}`,
      npm_config_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
    };
    const { stdout } = await run('npm', ['pack', dist, '--json', '--silent'], { cwd: directory, env });
    const [packed] = JSON.parse(stdout) as [{ filename: string }];
    const words = ['install', '--omit=optional', `./${packed.filename}`, '--prefix', directory];
    await run('npm', words, { cwd: directory, env });
  });
  return { home, dist, ...installation(join(home, 'node_modules/.bin')) };
}

/**
 * The files of this repository that are under version control, as they are now, with the packages that npm ci brought.
 */
export function clone(scope: Scope): Installation {
  const root = join(temporaryDirectory(scope), 'edge');
  for (const path of trackedPaths())
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(root, path), { verbatimSymlinks: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return installation(join(root, 'bin'));
}
