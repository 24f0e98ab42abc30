/** Versions on the disk: made whole before anything leads to them, checked, and removed when nothing needs them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ReleaseFile } from '../../transport/protocol/releases.ts';
import { sha256Of, unpack } from './download.ts';
import { linkedName, syncDirectory, writeSynced } from './durable.ts';
import { MANIFEST_FILE, RELEASE_FILE, RUNTIME_FILE, RUNTIME_LINK, type Layout } from './layout.ts';
import { AGENT_FILE, fileOf, parseRelease, UPDATER_FILE, versionName, type Release } from './release.ts';
import type { OnDisk } from './state.ts';

/** Ending of a directory that is being made. */
const UNFINISHED = '.new';

/** First words of a manifest. The launcher reads it: see deploy/launcher.sh. */
const MANIFEST_HEAD = 'edge-release 1';

/** Bundles of a version, which are its own; the runtime is shared. */
const BUNDLES = [AGENT_FILE, UPDATER_FILE] as const;

/** The version to which a link leads; null where there is none, or its release cannot be read. */
export function linkedVersion(layout: Layout, link: string): OnDisk | null {
  const name = linkedName(link);
  const release = name === null ? null : releaseIn(layout, name);
  return name === null || release === null ? null : { name, version: release.version };
}

/** The release of a version on the disk; null where it cannot be read. */
export function releaseIn(layout: Layout, name: string): Release | null {
  try {
    return parseRelease(readFileSync(join(layout.versions, name, RELEASE_FILE), 'utf8'), RELEASE_FILE);
  } catch {
    return null;
  }
}

/** Files of this release that have to be fetched: its bundles, and the runtime where no version has it. */
export async function missingFiles(layout: Layout, release: Release): Promise<readonly ReleaseFile[]> {
  if (await isVersionWhole(layout, versionName(release))) return [];
  const node = fileOf(release, RUNTIME_FILE);
  const isHere = (await sha256Of(join(layout.runtimes, node.sha256, RUNTIME_FILE))) === node.sha256;
  return [...(isHere ? [] : [node]), ...BUNDLES.map((name) => fileOf(release, name))];
}

/**
 * Makes the version of this release of files that are downloaded or here already. On return all of it is on the disk,
 * directories too. Answers its name.
 */
export async function makeVersion(layout: Layout, release: Release): Promise<string> {
  const name = versionName(release);
  if (await isVersionWhole(layout, name)) return name;
  for (const directory of [layout.versions, layout.runtimes]) mkdirSync(directory, { recursive: true, mode: 0o755 });
  const node = fileOf(release, RUNTIME_FILE);
  await makeRuntime(layout, node);
  const made = join(layout.versions, `${name}${UNFINISHED}`);
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { mode: 0o755 });
  for (const bundle of BUNDLES) await unpack(fileOf(release, bundle), layout, join(made, bundle), 0o644);
  const description = `${JSON.stringify(release, null, 2)}\n`;
  writeSynced(join(made, RELEASE_FILE), description);
  symlinkSync(join('../../runtimes', node.sha256), join(made, RUNTIME_LINK));
  writeSynced(join(made, MANIFEST_FILE), manifestOf(release));
  syncDirectory(made);
  const place = join(layout.versions, name);
  if (existsSync(place)) setAside(place); // damaged: what it is made of was just fetched again
  renameSync(made, place);
  syncDirectory(layout.versions);
  return name;
}

/** Whether every file of a version has the hash that its release says. */
export async function isVersionWhole(layout: Layout, name: string): Promise<boolean> {
  const release = releaseIn(layout, name);
  const directory = join(layout.versions, name);
  if (release === null || versionName(release) !== name) return false;
  if (textOf(join(directory, MANIFEST_FILE)) !== manifestOf(release)) return false;
  for (const file of release.files) if ((await sha256Of(pathIn(directory, file))) !== file.sha256) return false;
  return true;
}

/** What stays: versions by their names, and one by its version; null: none. */
export interface Kept {
  readonly names: ReadonlySet<string>;
  readonly version: string | null;
  /** Downloads that were written to since, in Unix ms; of an update that failed, the next one goes on with them. */
  readonly downloadsSinceMs: number;
}

/** Removes versions, runtimes and downloads that nothing needs. Answers the names of the versions. */
export function prune(layout: Layout, kept: Kept): readonly string[] {
  const removed: string[] = [];
  const runtimes = new Set<string>();
  for (const name of entriesOf(layout.versions)) {
    if (isKept(layout, name, kept)) runtimes.add(linkedName(join(layout.versions, name, RUNTIME_LINK)) ?? '');
    else {
      rmSync(join(layout.versions, name), { recursive: true, force: true });
      removed.push(name);
    }
  }
  for (const name of entriesOf(layout.runtimes))
    if (!runtimes.has(name)) rmSync(join(layout.runtimes, name), { recursive: true, force: true });
  for (const name of entriesOf(layout.downloads)) {
    const path = join(layout.downloads, name);
    const { mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs < kept.downloadsSinceMs) rmSync(path, { recursive: true, force: true });
  }
  return removed;
}

/** The path of a file in the directory of a version. */
export function pathIn(directory: string, { name }: Pick<ReleaseFile, 'name'>): string {
  return name === RUNTIME_FILE ? join(directory, RUNTIME_LINK, RUNTIME_FILE) : join(directory, name);
}

/** What the launcher checks: a line a file with its hash, its bytes and its path, and how many there are. */
function manifestOf(release: Release): string {
  const rows = release.files.map((file) => `${file.sha256} ${file.bytes} ${pathIn('.', file).replace(/^\.\//u, '')}`);
  return `${MANIFEST_HEAD} ${rows.length}\n${rows.join('\n')}\n`;
}

async function makeRuntime(layout: Layout, node: ReleaseFile): Promise<void> {
  const directory = join(layout.runtimes, node.sha256);
  const path = join(directory, RUNTIME_FILE);
  if ((await sha256Of(path)) === node.sha256) return;
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  await unpack(node, layout, path, 0o755);
  syncDirectory(directory);
  syncDirectory(layout.runtimes);
}

function setAside(place: string): void {
  rmSync(`${place}.damaged`, { recursive: true, force: true });
  renameSync(place, `${place}.damaged`);
}

function entriesOf(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function isKept(layout: Layout, name: string, { names, version }: Kept): boolean {
  return names.has(name) || (version !== null && releaseIn(layout, name)?.version === version);
}
