/** The words of `npm run package`. */
import { parseArgs } from 'node:util';
import { ARCHITECTURES, PACKAGES, type Architecture, type PackageName } from './contents.ts';

/** What can be made. */
export const FORMATS = ['deb', 'rpm', 'tar', 'cli'] as const;
export type Format = (typeof FORMATS)[number];

/** What was asked for. */
export interface PackageOptions {
  readonly isHelp: boolean;
  /** Where the files go, beside what is there. */
  readonly out: string;
  readonly architectures: readonly Architecture[];
  readonly formats: readonly Format[];
  /** Those of deb and rpm. */
  readonly packages: readonly PackageName[];
  /** What deploy/build.ts made; null: it is made first. */
  readonly dist: string | null;
  /** File with the root of releases that agents are to trust; null: none. */
  readonly root: string | null;
  readonly isQuick: boolean;
}

/** What `--help` says. */
export const USAGE = `npm run package -- [--out DIR] [--arch amd64|arm64] [--only deb|rpm|tar|cli] [--package NAME] [--dist DIR] [--root FILE] [--quick]

  --out DIR    where the files go (default: packages)
  --arch       machines to make them for; may be given twice (default: amd64)
  --only       one kind; may be given several times (default: all)
  --package    one package, such as edge-admin; may be given several times (default: all)
  --dist DIR   what npm run build made there, in place of building it
  --root FILE  root.json of your releases, which agents are to trust (default: none is brought)
  --quick      compress in seconds: for trying out

SOURCE_DATE_EPOCH is the time of all files (default: that of the commit); DEBFULLNAME and DEBEMAIL name the maintainer.
`;

/** Reads them, or says what is wrong in one line. */
export function optionsFrom(words: readonly string[]): PackageOptions | { readonly problem: string } {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        help: { type: 'boolean', short: 'h' },
        out: { type: 'string' },
        arch: { type: 'string', multiple: true },
        only: { type: 'string', multiple: true },
        package: { type: 'string', multiple: true },
        dist: { type: 'string' },
        root: { type: 'string' },
        quick: { type: 'boolean' },
      },
    });
    return {
      isHelp: values.help ?? false,
      out: values.out ?? 'packages',
      architectures: chosen('--arch', values.arch, ARCHITECTURES, ['amd64']),
      formats: chosen('--only', values.only, FORMATS, FORMATS),
      packages: chosen('--package', values.package, PACKAGES, PACKAGES),
      dist: values.dist ?? null,
      root: values.root ?? null,
      isQuick: values.quick ?? false,
    };
  } catch (error) {
    const [problem = ''] = (error as Error).message.split(/\n|\. To specify/u);
    return { problem: `${problem} (npm run package -- --help lists what there is)` };
  }
}

function chosen<Choice extends string>(
  flag: string,
  given: readonly string[] | undefined,
  known: readonly Choice[],
  fallback: readonly Choice[],
): readonly Choice[] {
  const wrong = given?.find((word) => !(known as readonly string[]).includes(word));
  if (wrong !== undefined) throw new Error(`${flag} is "${wrong}": it should be one of ${known.join(', ')}`);
  return given === undefined ? fallback : known.filter((word) => given.includes(word));
}
