/**
 * `npm run build:console`: makes the console for browsers, in `console/dist/` or the directory that is given; `npm ci`
 * does it by itself. Where esbuild was left out (`npm ci --omit=dev`) it says so, and the admin serves no console.
 */
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { BuildOptions, Metafile } from 'esbuild';
import { consoleTokens } from '../api/docs/tokens.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Where it is made for whoever runs the sources. */
export const CONSOLE_DIST = join(ROOT, 'console/dist');

/** What its addresses begin with. */
const PUBLIC_PATH = '/console/assets';

/** What it is made from. */
const SCRIPT = 'console/main.tsx';
const STYLE = 'console/style.css';

/** What runs before it, in a file whose name stays. */
const BOOT = { source: 'console/boot.ts', file: 'boot.js', path: '/console/boot.js' };

/** Where the page names its files. */
const FILES_MARK = '<!-- files -->';

/**
 * Makes the console in an emptied directory: files whose names hold their hash, each also compressed, and the page.
 * `others`: what makes it another build of the same sources.
 */
export async function buildConsole(directory: string, others: Pick<BuildOptions, 'minify'> = {}): Promise<Metafile> {
  const { build } = await import('esbuild');
  const assets = join(directory, 'assets');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(assets, { recursive: true });
  const made = {
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'browser',
    target: 'es2022',
    minify: true,
    legalComments: 'none', // licences stand in the file for all that is bundled
    logLevel: 'warning',
    ...others,
  } as const;
  await build({ ...made, entryPoints: [BOOT.source], outfile: join(directory, BOOT.file), format: 'iife' });
  const { metafile } = await build({
    ...made,
    entryPoints: [SCRIPT, STYLE].map((file) => ({ in: file, out: 'console' })),
    outdir: assets,
    splitting: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    banner: { css: consoleTokens() },
    define: { 'process.env.NODE_ENV': '"production"' },
    metafile: true,
  });
  writeFileSync(join(directory, 'index.html'), page(metafile, assets));
  for (const file of ['index.html', BOOT.file, ...readdirSync(assets).map((name) => `assets/${name}`)])
    compress(join(directory, file));
  return metafile;
}

/** The page with the names of this build. Scripts of modules wait until the page is read. */
function page(metafile: Metafile, assets: string): string {
  const outputOf = (entry: string) => {
    const found = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry);
    if (found === undefined) throw new Error(`the build of the console has nothing of ${entry}`);
    return { file: at(found[0]), imports: found[1].imports };
  };
  const at = (file: string): string => `${PUBLIC_PATH}/${relative(assets, resolve(ROOT, file))}`;
  const script = outputOf(SCRIPT);
  const early = script.imports.filter(({ kind, external }) => kind === 'import-statement' && external !== true);
  const lines = [
    `<script src="${BOOT.path}" defer></script>`,
    `<link rel="stylesheet" href="${outputOf(STYLE).file}">`,
    ...early.map(({ path }) => `<link rel="modulepreload" href="${at(path)}">`),
    `<script type="module" src="${script.file}"></script>`,
  ];
  return readFileSync(join(ROOT, 'console/index.html'), 'utf8').replace(FILES_MARK, () => lines.join('\n'));
}

/** Compressed once and as well as it goes, so that no request waits for it. */
function compress(file: string): void {
  const content = readFileSync(file);
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params: quality }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}

if (import.meta.main) {
  try {
    await buildConsole(resolve(process.argv[2] ?? CONSOLE_DIST));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.stdout.write('The console is not built: esbuild is not installed (npm ci --omit=dev leaves it out).\n');
  }
}
