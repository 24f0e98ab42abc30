/** The real programs of a machine as bundles, in as many versions as a test wants: built once, then only named anew. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT, bundleForDevice, UPDATER } from '../../../deploy/bundles.ts';
import { smallRuntime } from './small-agent.ts';

/** A version that stands in the bundles for the one that is wanted: no other text in them reads so. */
const PLACEHOLDER = '0.0.987654321';

/** The files of a release. */
export interface RealFiles {
  readonly node: string;
  readonly 'edge-agent.cjs': string;
  readonly 'edge-updater.cjs': string;
}

/** Builds them in a directory; answers what makes a version of them. */
export async function realBundles(directory: string): Promise<(version: string) => RealFiles> {
  await Promise.all(
    ([AGENT, UPDATER] as const).map((file) => bundleForDevice(file, directory, { version: PLACEHOLDER })),
  );
  const [agent, updater] = [AGENT, UPDATER].map((file) => readFileSync(join(directory, file), 'utf8'));
  return (version) => ({
    node: smallRuntime(),
    'edge-agent.cjs': (agent ?? '').replaceAll(PLACEHOLDER, version),
    'edge-updater.cjs': (updater ?? '').replaceAll(PLACEHOLDER, version),
  });
}
