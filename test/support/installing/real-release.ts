/** A release of the agent as it is, with this Node: what a machine without either is given. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT, bundleForDevice, UPDATER } from '../../../deploy/bundles.ts';
import { createReleases, type ReleaseFixture } from '../releases.ts';
import type { Scope } from '../scope.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Makes a signed repository with it, to which `stable` points. Takes some ten seconds: Node is packed. */
export async function realRelease(scope: Scope, version: string): Promise<ReleaseFixture> {
  const directory = temporaryDirectory(scope);
  const releases = await createReleases(directory);
  const built = join(directory, 'built');
  mkdirSync(built);
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
