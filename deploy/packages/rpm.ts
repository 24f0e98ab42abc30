/** A package as an `.rpm`, by rpmbuild from files that are there already. */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { NAMES_OF_ARCHITECTURES, type Architecture, type Package, type PackedFile, type Setup } from './contents.ts';
import { refusal, REVISION } from './deb.ts';
import { writeTree } from './tree.ts';

/** What is the same for all packages of one run. */
export interface RpmOptions {
  readonly out: string;
  /** A directory that is made for it, and removed. */
  readonly work: string;
  readonly timeMs: number;
  readonly architecture: Architecture;
  readonly isQuick: boolean;
}

/** Paths that Fedora, SUSE and their kin have elsewhere than Debian. */
const PLACES: readonly (readonly [debian: RegExp, rpm: string])[] = [
  [/^lib\/systemd\//u, 'usr/lib/systemd/'],
  [/^usr\/share\/zsh\/vendor-completions\//u, 'usr/share/zsh/site-functions/'],
];

/**
 * Macros that keep rpmbuild from touching what is packed: nothing is stripped, compiled, scanned for dependencies or
 * built for this machine, and neither its clock nor its name is written down.
 */
const MACROS = [
  '__os_install_post %{nil}',
  '_build_id_links none',
  'use_source_date_epoch_as_buildtime 1',
  'clamp_mtime_to_source_date_epoch 1',
  '_buildhost edge-fleet-control',
];

/** Makes it; answers the path of its file. */
export function makeRpm(made: Package, { out, work, timeMs, architecture, isQuick }: RpmOptions): string {
  const top = join(work, `rpm-${made.name}`);
  const root = join(top, 'root');
  rmSync(top, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  const files = made.files.map(placed);
  writeTree(root, files, made.directories ?? [], timeMs);
  const spec = join(top, `${made.name}.spec`);
  writeFileSync(spec, specOf(made, files));
  const machine = made.architecture === null ? 'noarch' : NAMES_OF_ARCHITECTURES[architecture].rpm;
  const macros = [
    ...MACROS,
    `_topdir ${top}`,
    `_rpmdir ${join(top, 'made')}`,
    `_binary_payload ${isQuick ? 'w1.gzdio' : 'w19.zstdio'}`,
  ];
  execFileSync(
    'rpmbuild',
    [
      '-bb',
      '--quiet',
      '--target',
      `${machine}-linux`,
      '--buildroot',
      root,
      ...macros.flatMap((macro) => ['--define', macro]),
      spec,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, SOURCE_DATE_EPOCH: String(timeMs / 1_000) } },
  );
  const [built = ''] = globSync('made/**/*.rpm', { cwd: top });
  const file = join(out, basename(built));
  renameSync(join(top, built), file);
  rmSync(top, { recursive: true });
  return file;
}

function placed(file: PackedFile): PackedFile {
  const found = PLACES.find(([debian]) => debian.test(file.path));
  return found === undefined ? file : { ...file, path: file.path.replace(found[0], found[1]) };
}

function specOf(made: Package, files: readonly PackedFile[]): string {
  const list = (name: string, relations: readonly string[] | undefined): readonly string[] =>
    (relations ?? []).map((relation) => `${name}: ${relation}`);
  return `${[
    `Name: ${made.name}`,
    `Version: ${made.version}`,
    `Release: ${REVISION}`,
    `Summary: ${made.summary}`,
    `License: ${made.license}`,
    'AutoReqProv: no',
    ...list('Requires', made.depends.rpm),
    ...list('Recommends', made.recommends?.rpm),
    ...list('Suggests', made.suggests?.rpm),
    '',
    '%description',
    made.description.join('\n\n'),
    '',
    ...(made.setup === undefined ? [] : scriptsOf(made.setup)),
    '%files',
    ...(made.directories ?? []).map((directory) => `%dir /${directory}`),
    ...files.map(line),
  ].join('\n')}\n`;
}

/** $1 is how many of this package are there afterwards. */
function scriptsOf({ program, refusedBy }: Setup): readonly string[] {
  return [
    ...(refusedBy === undefined ? [] : ['%pre', refusal(refusedBy)]),
    '%post',
    `if [ "$1" -eq 1 ]; then ${program} first; else ${program} upgrade; fi`,
    '',
    '%preun',
    `if [ "$1" -eq 0 ]; then ${program} remove; fi`,
    '',
    '%postun',
    'if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi',
    '',
  ];
}

function line({ path, content, mode = 0o644, isConfiguration = false }: PackedFile): string {
  const quoted = `"/${path.replaceAll('%', '%%')}"`;
  if ('link' in content) return quoted;
  return `${isConfiguration ? '%config(noreplace) ' : ''}%attr(${mode.toString(8)}, root, root) ${quoted}`;
}
