/** The agent as a release has it, one file, with a version that the test chooses. */
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { AGENT, NATIVE } from '../../../deploy/bundles.ts';
import type { Scope } from '../scope.ts';
import { ROOT } from '../source/source-text.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Files that may be ours; without the flag that Go's expressions do not have. */
const PACKAGE_FILE = new RegExp('/package\\.json$');

/** Makes it in a directory of its own; the path of the file. */
export async function agentBundle(scope: Scope, version: string): Promise<string> {
  const directory = temporaryDirectory(scope);
  const file = join(directory, AGENT);
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['cli/edge-agent.ts'],
    outfile: file,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    logLevel: 'warning',
    external: ['*.node', ...NATIVE, 'cpu-features'],
    define: { SFTP_PROGRAM: '""', 'import.meta.dirname': '""' },
    plugins: [
      {
        name: 'version',
        setup: (bundler) =>
          bundler.onLoad({ filter: PACKAGE_FILE }, ({ path }) =>
            path === join(ROOT, 'package.json')
              ? { contents: JSON.stringify({ ...manifest, version }), loader: 'json' }
              : undefined,
          ),
      },
    ],
  });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules')); // what is external
  return file;
}
