/** The admin and the command line as one tarball that runs where it is unpacked, with Node and PostgreSQL inside. */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { ONE_FILE } from '../one-file.ts';
import { adminPrograms, postgresFiles } from './catalogue.ts';
import { NAMES_OF_ARCHITECTURES, type PackedFile } from './contents.ts';
import type { Ingredients } from './ingredients.ts';
import { filesBelow, writeTree } from './tree.ts';

/** What is the same for all of one run. */
export interface TarballOptions {
  readonly out: string;
  readonly work: string;
  readonly timeMs: number;
  readonly isQuick: boolean;
}

/** Starts a program of the directory in which it lies, also by a link. */
const starter = (file: string): string => `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/lib/node" "$here/lib/${file}" "$@"
`;

/** Makes it; answers the path of its file. */
export function makeTarball(made: Ingredients, { out, work, timeMs, isQuick }: TarballOptions): string {
  const name = `edge-fleet-control-${packageFile.version}-linux-${NAMES_OF_ARCHITECTURES[made.architecture].npm}`;
  const root = join(work, name);
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  writeTree(root, contents(made), [], timeMs);
  const file = join(out, `${name}.tar.gz`);
  const sameForAll = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  execFileSync('tar', [
    ...sameForAll,
    `--use-compress-program=gzip -n -${isQuick ? 1 : 9}`,
    '-cf',
    file,
    '-C',
    work,
    name,
  ]);
  rmSync(root, { recursive: true });
  return file;
}

/** `edge` alone, for Linux and macOS with Node. */
export function makeOneFile(dist: string, out: string): string {
  const file = join(out, `edge-${packageFile.version}`);
  copyFileSync(join(dist, ONE_FILE), file);
  chmodSync(file, 0o755);
  return file;
}

function contents(made: Ingredients): readonly PackedFile[] {
  const { dist, node, postgres } = made;
  return [
    ...adminPrograms(dist, 'lib'),
    ...postgresFiles(postgres, `lib/node_modules/${postgres.name}`),
    { path: 'lib/node', content: { file: join(node.directory, 'bin/node') }, mode: 0o755 },
    { path: 'lib/edge', content: { file: join(dist, ONE_FILE) }, mode: 0o755 },
    { path: 'edge-admin', content: { text: starter('programs/edge-admin.js') }, mode: 0o755 },
    { path: 'edge', content: { text: starter('edge') }, mode: 0o755 },
    ...['README.md', 'CHANGELOG.md', 'LICENSE', 'THIRD-PARTY-LICENSES.txt'].map((file) => ({
      path: file,
      content: { file: join(dist, file) },
    })),
    { path: 'NODE-LICENSES.txt', content: { file: join(node.directory, 'LICENSE') } },
    ...['docs', 'deploy', 'sbom'].flatMap((directory) => filesBelow(join(dist, directory), directory)),
  ];
}
