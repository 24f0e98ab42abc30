/** Lists of parts of what is packed beside our programs: Node, and PostgreSQL. */
import { execFileSync } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { purl, sbom, type Component } from '../sbom.ts';
import type { NativePackage } from './native.ts';
import { hashOf } from './tree.ts';

/** What Node calls versions and are none of a library: of its interfaces, and its own. */
const NO_LIBRARIES = ['node', 'modules', 'napi'];

/** Node, and the libraries that are built into it. They are asked of the Node that runs, which has the same version. */
export function nodeSbom(node: NativePackage, timeMs: number): string {
  if (process.versions.node !== node.version)
    throw new Error(
      `This is Node ${process.versions.node}, and the packages bring ${node.version}: run it by npm run package.`,
    );
  const parts = Object.entries(process.versions)
    .filter(([name]) => !NO_LIBRARIES.includes(name))
    .map(([name, version = '']): Component => ({
      type: 'library',
      name,
      version,
      purl: purl('generic', name, version),
    }));
  return sbom(
    {
      type: 'platform',
      name: 'node',
      version: node.version,
      purl: purl('generic', 'node', node.version),
      license: 'MIT',
      hashes: [{ alg: 'SHA-256', content: hashOf(join(node.directory, 'bin/node')) }],
    },
    parts,
    timeMs,
  );
}

/** PostgreSQL, and the libraries that come with it, by the versions in the names of their files. */
export function postgresSbom(postgres: NativePackage, timeMs: number): string {
  const version = postgresVersion(join(postgres.directory, 'native/bin/postgres'), postgres.version);
  const libraries = globSync('native/lib/lib*.so*', { cwd: postgres.directory })
    .toSorted()
    .filter((path) => statSync(join(postgres.directory, path)).isFile() && !/lib(?:ecpg|pgtypes|pq)/u.test(path))
    .map((path): Component => {
      const [name = '', found = ''] = basename(path).split('.so.');
      return {
        type: 'library',
        name,
        version: found,
        purl: purl('generic', name, found),
        hashes: [{ alg: 'SHA-256', content: hashOf(join(postgres.directory, path)) }],
      };
    })
    .filter(({ version: found }) => found !== '');
  return sbom(
    {
      type: 'application',
      name: 'postgresql',
      version,
      purl: purl('generic', 'postgresql', version),
      license: 'PostgreSQL',
      hashes: [{ alg: 'SHA-256', content: hashOf(join(postgres.directory, 'native/bin/postgres')) }],
    },
    libraries,
    timeMs,
  );
}

/** What the server says, where it is one for this machine, else what its package is called. */
function postgresVersion(program: string, packaged: string): string {
  try {
    return (
      /\d+(?:\.\d+)+/u.exec(execFileSync(program, ['--version'], { encoding: 'utf8', stdio: 'pipe' }))?.[0] ?? packaged
    );
  } catch {
    return packaged.replace(/-.*$/u, '');
  }
}
