/**
 * The version of the agent and its updater that a package brings, as the updater lays versions out, but for Node: that
 * is the file of the package edge-runtime.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { JOURNAL_GROWTH } from '../../agent/execution/journal/journal-schema.ts';
import { partOf } from '../../agent/updater/download.ts';
import { layoutOf, RUNTIME_FILE } from '../../agent/updater/layout.ts';
import { versionName, type Release } from '../../agent/updater/release.ts';
import { makeVersion } from '../../agent/updater/versions.ts';
import packageFile from '../../package.json' with { type: 'json' };
import type { ReleaseFile, ReleaseFileName } from '../../transport/protocol/releases.ts';
import { PROTOCOL_VERSION } from '../../transport/protocol/version.ts';
import { AGENT, UPDATER } from '../bundles.ts';
import { NAMES_OF_ARCHITECTURES, type Architecture, type PackedFile } from './contents.ts';
import type { NativePackage } from './native.ts';
import { filesBelow } from './tree.ts';

/** What it is made of. */
export interface FirstVersionOptions {
  readonly dist: string;
  readonly node: NativePackage;
  readonly architecture: Architecture;
  /** A directory for it, which must not be there. */
  readonly work: string;
  readonly timeMs: number;
  readonly isQuick: boolean;
}

/** Makes it; answers its files below `usr/lib/edge-agent/first`. */
export async function firstVersion(options: FirstVersionOptions): Promise<readonly PackedFile[]> {
  const { dist, node, architecture, work, timeMs, isQuick } = options;
  const layout = layoutOf(work);
  for (const directory of [layout.downloads, layout.runtimes]) mkdirSync(directory, { recursive: true });
  const runtime = packed(RUNTIME_FILE, join(node.directory, 'bin/node'), isQuick);
  const bundles = ([AGENT, UPDATER] as const).map((name) => packed(name, join(dist, name), isQuick));
  const release: Release = {
    version: packageFile.version,
    released_at: new Date(timeMs).toISOString(),
    arch: `linux-${NAMES_OF_ARCHITECTURES[architecture].npm}`,
    journal_schema: JOURNAL_GROWTH,
    protocol: PROTOCOL_VERSION,
    files: [runtime, ...bundles].map(({ file }) => file),
  };
  for (const { file, bytes } of bundles) writeFileSync(partOf(layout.downloads, file), bytes);
  // There already, so that it is not unpacked: 126 MB that would be thrown away.
  symlinkSync(join(node.directory, 'bin'), join(layout.runtimes, runtime.file.sha256));
  const name = await makeVersion(layout, release);
  if (name !== versionName(release)) throw new Error(`${name} is not ${versionName(release)}.`);
  const place = 'usr/lib/edge-agent/first';
  return [
    ...filesBelow(layout.versions, `${place}/versions`),
    { path: `${place}/runtime`, content: { text: `${runtime.file.sha256}\n` } },
  ];
}

interface Packed {
  readonly file: ReleaseFile;
  readonly bytes: Uint8Array;
}

/** A file as a release describes it. Level 9 as releases are packed; the first level is for trying out. */
function packed(name: ReleaseFileName, path: string, isQuick: boolean): Packed {
  const whole = readFileSync(path);
  const bytes = gzipSync(whole, { level: isQuick ? 1 : 9 });
  return {
    file: {
      name,
      sha256: sha256(whole),
      bytes: whole.length,
      packed_sha256: sha256(bytes),
      packed_bytes: bytes.length,
    },
    bytes,
  };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
