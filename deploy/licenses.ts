/** The licences of what is bundled, as most of them ask for. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The name of the file that holds them. */
export const LICENSES_FILE = 'THIRD-PARTY-LICENSES.txt';

/** The licences of the packages of which something is in the bundles. */
export function licenses(metafiles: readonly Metafile[]): string {
  const paths = metafiles.flatMap((metafile) => Object.keys(metafile.inputs));
  const packages = new Set(paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(path) ?? []));
  return [...packages]
    .toSorted()
    .map((directory) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(ROOT, directory, 'package.json'), 'utf8'),
      ) as Record<string, string>;
      const [file] = globSync('{LICENSE,LICENCE,license,licence,COPYING}*', { cwd: join(ROOT, directory) });
      const text = file === undefined ? '' : `\n${readFileSync(join(ROOT, directory, file), 'utf8').trim()}\n`;
      return `${name} ${version} (${license})\n${text}`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
