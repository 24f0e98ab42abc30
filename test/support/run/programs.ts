/**
 * The files of our programs that tests start. A run of many files makes one bundle first, as it is published but
 * readable: an admin then starts in half the processor time, and so does an agent. A few files, and ava by itself, have
 * the plain sources.
 */
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { AGENT, bundlePrograms, PROGRAMS_DIRECTORY, UPDATER } from '../../../deploy/bundles.ts';
import { ROOT } from '../source/source-text.ts';

/** Variable with the directory of the bundle, where there is one. */
export const PROGRAMS_VARIABLE = 'EDGE_TEST_PROGRAMS';

/** A program, as users call it. */
export type ProgramName = 'edge' | 'edge-admin' | 'edge-agent' | 'edge-updater';

/** The file to start it by. */
export function programFile(name: ProgramName): string {
  const directory = process.env[PROGRAMS_VARIABLE];
  if (directory === undefined) return join(ROOT, 'cli', `${name}.ts`);
  if (name === 'edge-agent') return join(directory, AGENT);
  if (name === 'edge-updater') return join(directory, UPDATER);
  return join(directory, PROGRAMS_DIRECTORY, `${name}.js`);
}

/** Where code that was compiled before is, for a process with these arguments. Code of a bundle goes with it. */
export function compileCache(args: readonly string[]): { readonly NODE_COMPILE_CACHE?: string } {
  const directory = process.env[PROGRAMS_VARIABLE];
  const cache =
    directory !== undefined && args.some((arg) => arg.startsWith(directory))
      ? join(directory, 'code')
      : process.env['NODE_COMPILE_CACHE'];
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: cache };
}

/** Makes the bundle in a directory of its own. */
export async function makePrograms(): Promise<{ readonly directory: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'edge-programs-'));
  await bundlePrograms(directory, { isReadable: true });
  // What is not in the bundle is found as from the sources.
  await copyFile(join(ROOT, 'package.json'), join(directory, 'package.json'));
  for (const name of ['node_modules', 'console']) await symlink(join(ROOT, name), join(directory, name));
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

/**
 * What a program said, with places in the sources instead of the bundle. Programs do not do that by themselves: reading
 * the maps would take as long as the start.
 */
export function withSourcePlaces(text: string): string {
  const directory = process.env[PROGRAMS_VARIABLE];
  if (directory === undefined || !text.includes(directory)) return text;
  return text.replaceAll(
    /(?:file:\/\/)?(?<path>\/[^\s:()"\\]+\.c?js):(?<line>\d+):(?<column>\d+)/gu,
    (place, path: string, line: string, column: string) => {
      if (!path.startsWith(directory) || !existsSync(`${path}.map`)) return place;
      const found = mapOf(path).findEntry(Number(line) - 1, Number(column) - 1);
      return 'originalSource' in found
        ? `${relative(ROOT, resolve(dirname(path), found.originalSource))}:${found.originalLine + 1}:${found.originalColumn + 1}`
        : place;
    },
  );
}

const maps = new Map<string, SourceMap>();

function mapOf(path: string): SourceMap {
  const known = maps.get(path);
  if (known !== undefined) return known;
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload);
  maps.set(path, map);
  return map;
}
