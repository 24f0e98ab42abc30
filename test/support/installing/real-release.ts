/** A release of the agent as it is, with this Node: what a machine without either is given. */
import { createReadStream, createWriteStream, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { hashOf, type Repository } from '../../../cli/release/repository.ts';
import { AGENT, bundleForDevice, UPDATER } from '../../../deploy/bundles.ts';
import { fileTarget } from '../../../transport/protocol/releases.ts';
import { createReleases, type ReleaseFixture } from '../releases/releases.ts';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Makes a signed repository with it, to which `stable` points. */
export async function realRelease(scope: Scope, version: string): Promise<ReleaseFixture> {
  const directory = temporaryDirectory(scope);
  const releases = await createReleases(directory);
  const built = join(directory, 'built');
  mkdirSync(built);
  await packQuickly(releases.repository, process.execPath);
  await Promise.all([AGENT, UPDATER].map((file) => bundleForDevice(file as typeof AGENT, built, { version })));
  await releases.add({
    version,
    files: {
      node: { path: process.execPath },
      'edge-agent.cjs': { path: join(built, AGENT) },
      'edge-updater.cjs': { path: join(built, UPDATER) },
    },
  });
  await releases.promote(version);
  return releases;
}

/** What is there is not packed again: as well as for a release takes ten seconds for Node. */
async function packQuickly(repository: Repository, path: string): Promise<void> {
  const packed = repository.pathOf(fileTarget((await hashOf(path)).sha256));
  mkdirSync(dirname(packed), { recursive: true });
  await pipeline(createReadStream(path), createGzip({ level: 1 }), createWriteStream(packed));
}
