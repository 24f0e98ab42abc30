/**
 * `npm run package`: makes what is installed without npm. Debian and RPM packages, tarballs, and `edge` in one file,
 * with a list of the parts of each and the checksums of all. See docs/packages.md.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildTimeMs } from '../build-time.ts';
import { optionsFrom, USAGE, type PackageOptions } from './arguments.ts';
import { packagesFrom, sbomsOf } from './catalogue.ts';
import type { Architecture } from './contents.ts';
import { makeDeb } from './deb.ts';
import { firstVersion } from './first-version.ts';
import type { Ingredients } from './ingredients.ts';
import { nodeSbom, postgresSbom } from './native-parts.ts';
import { nodeFor, postgresFor } from './native.ts';
import { makeRpm } from './rpm.ts';
import { makeOneFile, makeTarball } from './tarball.ts';
import { hashOf } from './tree.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Who answers for the packages, unless DEBFULLNAME and DEBEMAIL say who. */
const MAINTAINER = 'edge-fleet-control <packages@edge-fleet-control.invalid>';

/** The file with the checksums of the others. */
const SUMS = 'SHA256SUMS';

/** What is made, and where. */
interface Wanted extends PackageOptions {
  readonly out: string;
  readonly work: string;
}

const options = optionsFrom(process.argv.slice(2));
if ('problem' in options) {
  process.stderr.write(`package: ${options.problem}\n`);
  process.exitCode = 2;
} else if (options.isHelp) process.stdout.write(USAGE);
else await make(options);

async function make(options: PackageOptions): Promise<void> {
  const out = resolve(options.out);
  const work = mkdtempSync(join(tmpdir(), 'edge-packages-'));
  try {
    mkdirSync(out, { recursive: true });
    const dist = options.dist ?? built(join(work, 'dist'));
    const made: string[] = [];
    for (const architecture of options.architectures)
      made.push(...formats(await ingredients(dist, architecture, { ...options, work }), { ...options, out, work }));
    writeFileSync(join(out, SUMS), checksums(out));
    for (const file of made)
      process.stdout.write(`${statSync(file).size.toLocaleString('en').padStart(12)}  ${file}\n`);
  } catch (error) {
    process.stderr.write(`package: ${(error as Error).message}\n`);
    process.exitCode = 1;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The published programs, made anew. */
function built(dist: string): string {
  execFileSync(process.execPath, [join(ROOT, 'deploy/build.ts'), dist], { stdio: ['ignore', 'ignore', 'inherit'] });
  return dist;
}

async function ingredients(
  dist: string,
  architecture: Architecture,
  { root, isQuick, work }: Pick<Wanted, 'root' | 'isQuick' | 'work'>,
): Promise<Ingredients> {
  const cache = join(ROOT, 'node_modules/.cache/edge-packages');
  const [node, postgres] = [nodeFor(architecture, cache), postgresFor(architecture, cache)];
  const timeMs = buildTimeMs();
  const sboms = { 'edge-runtime': nodeSbom(node, timeMs), 'edge-admin-postgresql': postgresSbom(postgres, timeMs) };
  const place = join(work, `first-${architecture}`);
  const first = await firstVersion({ dist, node, architecture, work: place, timeMs, isQuick });
  return { dist, node, postgres, sboms, architecture, firstVersion: first, root };
}

/** What is made for one kind of machine, each a file in `out`. */
function formats(made: Ingredients, { formats: wanted, packages, isQuick, out, work }: Wanted): readonly string[] {
  const options = {
    out,
    work,
    timeMs: buildTimeMs(),
    isQuick,
    maintainer: maintainer(),
    architecture: made.architecture,
  };
  const chosen = packagesFrom(made).filter(({ name }) => packages.includes(name));
  return [
    ...(wanted.includes('deb') ? chosen.map((one) => makeDeb(one, options)) : []),
    ...(wanted.includes('rpm') ? chosen.map((one) => makeRpm(one, options)) : []),
    ...(wanted.includes('tar') ? [makeTarball(made, options)] : []),
    ...(wanted.includes('cli') ? [makeOneFile(made.dist, out)] : []),
    ...sbomsOf(made).map(({ name, text }) => written(join(out, name), text)),
  ];
}

function written(file: string, text: string): string {
  writeFileSync(file, text);
  return file;
}

function maintainer(): string {
  const { DEBFULLNAME: name, DEBEMAIL: address } = process.env;
  return address === undefined ? MAINTAINER : `${name ?? 'edge-fleet-control'} <${address}>`;
}

/** Sorted, in the form that sha256sum --check reads. Files of earlier runs that are still there are in it too. */
function checksums(out: string): string {
  return readdirSync(out)
    .filter((name) => name !== SUMS && statSync(join(out, name)).isFile())
    .toSorted()
    .map((name) => `${hashOf(join(out, name))}  ${name}\n`)
    .join('');
}
