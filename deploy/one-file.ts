/**
 * `edge` as one file for any machine that has Node. Its code stands in it as text that Node compiles with its cache:
 * what is the main program of Node never comes from there, and all of `edge` takes 50 ms to compile (measured).
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Metafile } from 'esbuild';
import { SHARED } from './bundles.ts';

/** Its file in the directory of the package. */
export const ONE_FILE = 'edge.cjs';

/**
 * What runs before the code. It may be read as an ES module or as CommonJS, by what the directory says in which a user
 * put it. `_compile` is what Node itself calls for each CommonJS module, the only way to its cache for code of ours.
 */
const LOADER = (code: string): string => `{
  const Module = process.getBuiltinModule('node:module');
  Module.enableCompileCache();
  const file = process.argv[1];
  const main = new Module(file, null);
  main.filename = file;
  main.paths = Module._nodeModulePaths(process.getBuiltinModule('node:path').dirname(file));
  main._compile(${JSON.stringify(code)}, file + '#edge');
}
`;

/** Writes the file; answers what is in it. `check` is code that stands before anything else. */
export async function bundleOneFile(file: string, check: string): Promise<Metafile> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    ...SHARED,
    entryPoints: ['cli/edge.ts'],
    write: false,
    format: 'cjs',
    minify: true,
    keepNames: true, // for stack traces
    define: { 'import.meta.dirname': '__dirname' },
  });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/usr/bin/env node\n${check}\n${LOADER(outputFiles[0]?.text ?? '')}`);
  chmodSync(file, 0o755);
  return metafile;
}
