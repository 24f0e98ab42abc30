/**
 * Where the programs of a release come from: they lie beside an installed `edge`, or are made of the sources of a
 * clone.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { EXIT, Problem } from '../problem.ts';

/** The files as the package has them. */
const AGENT = 'edge-agent.cjs';
const UPDATER = 'edge-updater.cjs';

/** Directories between a file of ours and the package: chunks lie in `programs/chunks`. */
const LEVELS_MAX = 4;

/** A program that only says its version ends within this time, in ms, also on a slow machine. */
const VERSION_MS_MAX = 30_000;

/** Programs of one version. */
export interface Bundles {
  readonly agent: string;
  /** Null: this package has none. */
  readonly updater: string | null;
  /** As the agent says it. */
  readonly version: string;
}

/** Does something with the programs, which go away afterwards where they had to be made. */
export async function withBundles<T>(given: string | undefined, use: (bundles: Bundles) => Promise<T>): Promise<T> {
  if (given !== undefined) {
    if (!existsSync(join(given, AGENT)))
      throw new Problem(`${given} has no ${AGENT}: --bundles should be a directory with the programs`, EXIT.usage);
    return use(await bundlesIn(given));
  }
  const place = placeAbove(import.meta.dirname);
  if (place === null)
    throw new Problem(
      `there is no ${AGENT} beside this edge: --bundles names a directory that has it, such as that of the installed package`,
      EXIT.usage,
    );
  if (place.kind === 'package') return use(await bundlesIn(place.directory));
  const made = mkdtempSync(join(tmpdir(), 'edge-release-'));
  try {
    // Not named to the bundler: a published package has no sources.
    const source = pathToFileURL(join(place.directory, 'deploy', 'bundles.ts')).href;
    const { bundlePrograms } = (await import(source)) as {
      readonly bundlePrograms: (directory: string) => Promise<unknown>;
    };
    await bundlePrograms(made);
    return await use(await bundlesIn(made));
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function placeAbove(directory: string): { readonly kind: 'package' | 'sources'; readonly directory: string } | null {
  let at = directory;
  for (let level = 0; level < LEVELS_MAX; level += 1) {
    if (existsSync(join(at, AGENT))) return { kind: 'package', directory: at };
    if (existsSync(join(at, 'deploy', 'bundles.ts'))) return { kind: 'sources', directory: at };
    at = dirname(at);
  }
  return null;
}

async function bundlesIn(directory: string): Promise<Bundles> {
  const [agent, updater] = [join(directory, AGENT), join(directory, UPDATER)];
  const version = await promisify(execFile)(process.execPath, [agent, '--version'], { timeout: VERSION_MS_MAX }).then(
    ({ stdout }) => stdout.trim(),
    (error: unknown) => {
      throw new Problem(`${agent} does not start: ${(error as Error).message.split('\n')[0] ?? ''}`);
    },
  );
  return { agent, updater: existsSync(updater) ? updater : null, version };
}
