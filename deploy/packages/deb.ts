/** A package as a `.deb`, by dpkg-deb. The same bytes for the same files and time. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Package, PackedFile, Setup } from './contents.ts';
import { bytesBelow, hashOf, writeTree } from './tree.ts';

/** Of the packaging alone, behind the version of what is packed. */
export const REVISION = 1;

/** What lintian says of all of them and is meant so: the tag, and why. */
const LINTIAN_OVERRIDES: NonNullable<Package['lintianOverrides']> = [
  ['initial-upload-closes-no-bugs *', 'it is not uploaded to Debian'],
];

/** What is the same for all packages of one run. */
export interface DebOptions {
  /** Where the package goes. */
  readonly out: string;
  /** A directory that is made for it, and removed. */
  readonly work: string;
  readonly timeMs: number;
  /** `Name <address>`. */
  readonly maintainer: string;
  /** Compress in seconds, for trying out, in place of well. */
  readonly isQuick: boolean;
}

/** Makes it; answers the path of its file. */
export function makeDeb(made: Package, { out, work, timeMs, maintainer, isQuick }: DebOptions): string {
  const root = join(work, made.name);
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  const files = [...made.files, ...documents(made, maintainer, timeMs)];
  writeTree(root, files, made.directories ?? [], timeMs);
  const control: readonly PackedFile[] = [
    controlFile('control', fields(made, maintainer, Math.ceil(bytesBelow(root) / 1_024))),
    controlFile(
      'md5sums',
      files
        .filter(({ content }) => !('link' in content))
        .map(({ path }) => `${hashOf(join(root, path), 'md5')}  ${path}\n`)
        .toSorted()
        .join(''),
    ),
    ...configurations(made),
    ...(made.setup === undefined ? [] : scripts(made.name, made.setup)),
  ];
  writeTree(root, control, [], timeMs);
  const file = join(out, `${made.name}_${versionOf(made)}_${made.architecture ?? 'all'}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', ...(isQuick ? ['-Zgzip', '-z1'] : ['-Zxz']), '--build', root, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(timeMs / 1_000) },
  });
  rmSync(root, { recursive: true });
  return file;
}

function versionOf({ version }: Package): string {
  return `${version}-${REVISION}`;
}

function controlFile(name: string, text: string, mode = 0o644): PackedFile {
  return { path: `DEBIAN/${name}`, content: { text }, mode };
}

function fields(made: Package, maintainer: string, installedKib: number): string {
  const list = (name: string, relations: readonly string[] | undefined): readonly string[] =>
    relations === undefined || relations.length === 0 ? [] : [`${name}: ${relations.join(', ')}`];
  return `${[
    `Package: ${made.name}`,
    `Version: ${versionOf(made)}`,
    `Architecture: ${made.architecture ?? 'all'}`,
    `Maintainer: ${maintainer}`,
    `Installed-Size: ${installedKib}`,
    ...list('Depends', made.depends.deb),
    ...list('Recommends', made.recommends?.deb),
    ...list('Suggests', made.suggests?.deb),
    `Section: ${made.section}`,
    'Priority: optional',
    `Description: ${made.summary}`,
    made.description.map((paragraph) => wrapped(paragraph).join('\n')).join('\n .\n'),
  ].join('\n')}\n`;
}

/** Lines of a description begin with a space and have at most 80 columns. */
function wrapped(paragraph: string): readonly string[] {
  const lines = [''];
  for (const word of paragraph.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length + 1 > 78) lines.push(` ${word}`);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

function configurations({ files }: Package): readonly PackedFile[] {
  const paths = files.filter(({ isConfiguration }) => isConfiguration).map(({ path }) => `/${path}\n`);
  return paths.length === 0 ? [] : [controlFile('conffiles', paths.join(''))];
}

/** What is mounted among the data is not ours: it stays, and all of the data with it. */
function removal(name: string, data: readonly string[]): readonly string[] {
  const mounted = String.raw`sed -n 's/^\([^ ]* \)\{4\}\([^ ]*\) .*/\2/p' /proc/self/mountinfo | grep -qE '^(${data.join('|')})/'`;
  return [
    `if ${mounted}; then echo "${name}: something is mounted in its data, which stays: ${data.join(' ')}" >&2`,
    `else rm -rf ${data.join(' ')}; fi`,
  ];
}

/** Scripts do little themselves: what they call is in the package, and the same for every system. */
function scripts(name: string, { program, user, data, refusedBy }: Setup): readonly PackedFile[] {
  const head = '#!/bin/sh\nset -e\n';
  const purged = [
    ...(data.length === 0 ? [] : removal(name, data)),
    ...(user === undefined ? [] : [`if getent passwd ${user} >/dev/null; then userdel ${user} || true; fi`]),
  ];
  return [
    ...(refusedBy === undefined ? [] : [controlFile('preinst', `${head}${refusal(refusedBy)}`, 0o755)]),
    controlFile(
      'postinst',
      `${head}case $1 in\nconfigure) if [ -z "$2" ]; then ${program} first; else ${program} upgrade; fi ;;\nabort-upgrade | abort-remove | abort-deconfigure) ;;\n*) echo "${name}: postinst does not know $1" >&2; exit 1 ;;\nesac\n`,
      0o755,
    ),
    controlFile('prerm', `${head}case $1 in\nremove) ${program} remove ;;\nesac\n`, 0o755),
    controlFile(
      'postrm',
      `${head}if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi\nif [ "$1" = purge ]; then\n${purged.map((line) => `  ${line}\n`).join('')}fi\n`,
      0o755,
    ),
  ];
}

/** Lines for a shell that end an installation before anything is changed. */
export function refusal({ file, problem }: NonNullable<Setup['refusedBy']>): string {
  return `if [ -e ${file} ]; then\n  echo '${problem}' >&2\n  exit 1\nfi\n`;
}

/** What Debian wants to be in every package. */
function documents(made: Package, maintainer: string, timeMs: number): readonly PackedFile[] {
  const place = `usr/share/doc/${made.name}`;
  const date = new Date(timeMs).toUTCString().replace('GMT', '+0000');
  const changes = `${made.name} (${versionOf(made)}) unstable; urgency=medium\n\n  * Release ${made.version}. What changed: CHANGELOG.md of the project.\n\n -- ${maintainer}  ${date}\n`;
  const overrides = [...LINTIAN_OVERRIDES, ...(made.lintianOverrides ?? [])]
    .map(([tag, why]) => `# ${why}\n${made.name}: ${tag}\n`)
    .join('');
  return [
    { path: `${place}/copyright`, content: { text: copyright(made, new Date(timeMs).getUTCFullYear()) } },
    { path: `${place}/changelog.Debian.gz`, content: { bytes: gzipSync(changes, { level: 9 }) } },
    { path: `usr/share/lintian/overrides/${made.name}`, content: { text: overrides } },
  ];
}

function copyright({ license }: Package, year: number): string {
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: edge-fleet-control

Files: *
Copyright: ${year} the authors of edge-fleet-control and of what is in it
License: ${license}
 ${
   license === 'Apache-2.0'
     ? 'On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.'
     : 'The texts are beside this file.'
 }
 What others wrote, with their licences, is listed beside this file, where there is any.
`;
}
