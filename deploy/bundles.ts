/** The programs as plain JavaScript: what `deploy/build.ts` publishes, and what whole runs of the tests start. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';
import { readPieces } from '../api/install/pieces.ts';
import packageFile from '../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Programs that share their pieces, by name; the agent is a file of its own, so that it can be copied alone onto a
 * device.
 */
export const PROGRAMS = ['edge', 'edge-admin'] as const;

/** The agent's file in the directory of the package. */
export const AGENT = 'edge-agent.cjs';

/** The updater's file, which is as the agent's. */
export const UPDATER = 'edge-updater.cjs';

/** Where the files of PROGRAMS are in the directory of the package, as `<name>.js`. */
export const PROGRAMS_DIRECTORY = 'programs';

/**
 * What a bundle of ES modules needs for the packages in it that still call `require`, or ask where they are, as ssh2
 * does. The names must not meet one of theirs.
 */
export const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url),__moduleDirectory=import.meta.dirname;";

/**
 * Packages with native code, prebuilt for many machines: npm installs them beside the bundles where it can. Without
 * them sessions have no terminal, and ws masks more slowly.
 */
export const NATIVE = ['@lydell/node-pty', 'bufferutil'];

/** How all of them are made. */
export const SHARED = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node24',
  metafile: true,
  logLevel: 'warning',
  external: ['*.node', ...NATIVE, 'cpu-features'], // native code is for one machine
} satisfies BuildOptions;

/** How they are made. */
export interface BundleOptions {
  /** Code that stands at the beginning of the agent. */
  readonly agentBanner?: string;
  /**
   * For whoever reads stack traces: the agent is not minified either, and beside each file is its source map, as
   * `<file>.map`.
   */
  readonly isReadable?: boolean;
}

/** How a program becomes one CommonJS file, which can be copied alone onto a device. */
export interface DeviceOptions extends BundleOptions {
  /** What it calls itself; that of package.json unless given. */
  readonly version?: string;
}

/** Makes PROGRAMS, the agent and the updater in a directory; answers what is in them. */
export async function bundlePrograms(
  directory: string,
  { agentBanner = '', isReadable = false }: BundleOptions = {},
): Promise<readonly Metafile[]> {
  const { build } = await import('esbuild'); // not for those who only want to know where files are
  const readable = isReadable ? ({ sourcemap: 'external', sourcesContent: false } as const) : {};
  const [programs, ...devices] = await Promise.all([
    build({
      ...SHARED,
      ...readable,
      entryPoints: PROGRAMS.map((name) => `cli/${name}.ts`),
      outdir: join(directory, PROGRAMS_DIRECTORY),
      format: 'esm',
      splitting: true,
      chunkNames: 'chunks/[name]-[hash]',
      banner: { js: REQUIRE },
      plugins: [HTTP_AS_NEEDED],
      // the installation of agents, which the admin serves: see api/install/pieces.ts
      define: { __dirname: '__moduleDirectory', INSTALL_PIECES: JSON.stringify(readPieces(ROOT)) },
    }),
    bundleForDevice(AGENT, directory, { agentBanner, isReadable }),
    bundleForDevice(UPDATER, directory, { isReadable }),
  ]);
  return [programs.metafile, ...devices];
}

/** Makes one of the two programs of a managed machine. Answers what is in it. */
export async function bundleForDevice(
  file: typeof AGENT | typeof UPDATER,
  directory: string,
  { agentBanner = '', isReadable = false, version }: DeviceOptions = {},
): Promise<Metafile> {
  const { build } = await import('esbuild');
  const readable = isReadable ? ({ sourcemap: 'external', sourcesContent: false } as const) : {};
  const define: Record<string, string> = { 'import.meta.dirname': '""' };
  if (file === AGENT) define['SFTP_PROGRAM'] = JSON.stringify(await sftpProgram()); // see agent/access/sftp/command.ts
  const { metafile } = await build({
    ...SHARED,
    ...readable,
    entryPoints: [`cli/${file.replace(/\.cjs$/u, '.ts')}`],
    outfile: join(directory, file),
    format: 'cjs',
    minify: !isReadable,
    keepNames: !isReadable, // for stack traces
    banner: { js: agentBanner },
    define,
    plugins: version === undefined ? [] : [withVersion(version)],
  });
  return metafile;
}

/**
 * Takes HTTP of Node without all that it exports: an import reads WebSocket among it, which loads all of fetch, and
 * that takes a tenth of a start.
 */
const HTTP_AS_NEEDED: Plugin = {
  name: 'http as needed',
  setup(build) {
    build.onResolve({ filter: /^(?:node:)?https?$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path: path.replace('node:', ''), namespace: 'http-as-needed' } : null,
    );
    build.onLoad({ filter: /./, namespace: 'http-as-needed' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(`node:${path}`)});`,
    }));
  },
};

/** A program within the program. */
async function sftpProgram(): Promise<string> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    ...SHARED,
    entryPoints: ['agent/access/sftp/program.ts'],
    write: false,
    format: 'cjs',
    minify: true,
  });
  return outputFiles[0]?.text ?? '';
}

/** Has our package.json say another version, where a program reads it. */
function withVersion(version: string): Plugin {
  return {
    name: 'version',
    setup(build) {
      build.onLoad({ filter: /package\.json$/ }, ({ path }) =>
        path === join(ROOT, 'package.json')
          ? { contents: JSON.stringify({ ...packageFile, version }), loader: 'json' }
          : null,
      );
    },
  };
}
