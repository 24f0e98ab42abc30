/** The licences of what is bundled, as most of them ask for. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The name of the file that holds them. */
export const LICENSES_FILE = 'THIRD-PARTY-LICENSES.txt';

/** A package of which something is in a bundle. */
export interface BundledPackage {
  /** Where it is installed, from the root of the repository. */
  readonly directory: string;
  readonly name: string;
  readonly version: string;
  /** As its manifest says. */
  readonly license: string;
}

/** The packages to which these files belong, which are named from the root of the repository. */
export function packagesOf(paths: readonly string[]): readonly BundledPackage[] {
  const directories = new Set(paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(path) ?? []));
  return [...directories].toSorted().map((directory) => {
    const { name, version, license, licenses } = JSON.parse(
      readFileSync(join(ROOT, directory, 'package.json'), 'utf8'),
    ) as {
      readonly name: string;
      readonly version: string;
      readonly license?: string;
      /** As manifests of old wrote it. */
      readonly licenses?: readonly { readonly type: string }[];
    };
    return { directory, name, version, license: license ?? licenses?.map(({ type }) => type).join(' OR ') ?? '' };
  });
}

/** The licences of the packages of which something is in the bundles. */
export function licenses(metafiles: readonly Metafile[]): string {
  return packagesOf(metafiles.flatMap((metafile) => Object.keys(metafile.inputs)))
    .map(({ directory, name, version, license }) => {
      const [file] = globSync('{LICENSE,LICENCE,license,licence,COPYING}*', { cwd: join(ROOT, directory) });
      const text = file === undefined ? '' : `\n${readFileSync(join(ROOT, directory, file), 'utf8').trim()}\n`;
      return `${name} ${version} (${license})\n${text}`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
